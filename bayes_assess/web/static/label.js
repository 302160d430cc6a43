// The labelling page as one module: alone in a browser, where it talks to its server, or in a notebook as an anywidget.
// What items say is only ever text to it.

const AGAIN = [500, 1000, 2000, 4000]; // milliseconds until what did not arrive is sent again
const WAIT = 5000; // milliseconds until somebody looks again whether items are back that others had
const MOST = 60; // labels that are listed at a time
const TWICE = 400; // milliseconds after an item came within which the second click of a double click is no answer to it
const TO_READ = 5000; // milliseconds that people have to read why an answer was not taken, however fast they go on
const SILENT = "The server does not answer.";
const ANEW = "The server was started anew: open the page by the address that it printed then.";
const ANOTHER = "Another campaign is served here now: reload the page to label for it.";

/** Make an element; attributes that are functions are listeners, and children that are texts stay texts. */
function make(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child != null));
  return node;
}

const RIGHT_TO_LEFT = /([\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]+(?:[^\p{Letter}\p{Number}]+[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufeff]+)*)/u;
/** Take a sentence apart so that names of letters that run from right to left do not turn the numbers beside them. */
const isolated = (text) => text.split(RIGHT_TO_LEFT).map((part, at) => (at % 2 ? make("bdi", {}, part) : part));

const labels = (n) => `${n.toLocaleString("en")} label${n === 1 ? "" : "s"}`;
const number = (value, digits = 3) => (value == null ? "–" : Number(value).toFixed(digits));
const ends = ([low, high]) => `[${number(low)}, ${number(high)}]`;

/** Read a number as people write it, with a point or a comma; NaN where it is none, or the comma may be of thousands. */
function numberIn(text) {
  const plain = text.trim().replace("\u2212", "-");
  const written = /^[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?$/i.test(plain) && !/^[+-]?[1-9]\d{0,2},\d{3}$/.test(plain);
  return written ? Number(plain.replace(",", ".")) : NaN;
}

/** Put a labelling page into an element. */
export function mount(root, link) {
  let spec = { kind: "one", choices: [] };
  let open = []; // cards to label, the first on the screen
  let recent = []; // answered cards, the latest last
  let outbox = []; // answers that the server has not taken yet
  let editing = null; // an answered card that is shown again
  let deciding = null; // cards on which annotators differ
  let info = { title: "", counts: {}, waiting: "", show_answer: false };
  let given = []; // answers to the sides of the card on the screen
  let query = "";
  let note = null; // null while its field is closed
  let standing = null;
  let problem = ""; // of the answer on the screen
  let refusal = { text: "", until: 0 }; // why the server did not take an earlier one
  let offline = ""; // why nothing arrives
  const again = {}; // timers of what is asked for once more, by act
  let sending = false;
  let showing = false;
  let pressed = 0; // when, for measurements
  let came = -Infinity; // when the item on the screen came
  let withdrawn = -Infinity; // when the item before it was taken away, as somebody else has told its label
  const part = {};

  // The parts of the page -------------------------------------------------------------------------------------------
  const tool = (name, text, key, act) => (part[name] = make("button", { type: "button", class: "quiet", click: act }, text, key ? make("kbd", {}, key) : null));
  part.title = make("h1");
  part.count = make("span", { class: "count" });
  part.notice = make("div", { class: "notice", role: "alert", hidden: true });
  part.card = make("section", { class: "card", tabindex: "-1", "aria-label": "Item to label" });
  part.input = make("div", { class: "input" });
  part.note = make("textarea", { "aria-label": "Note on this item", placeholder: "A note on this item", dir: "auto", hidden: true, maxlength: 2000, input: () => (note = part.note.value) });
  part.recent = make("section", { class: "recent", "aria-label": "Your last answers" });
  part.aside = make("aside", { "aria-label": "The answer so far", hidden: true });
  part.live = make("div", { class: "unseen", role: "status", "aria-live": "polite" });
  part.help = make("dialog", { "aria-label": "Keys" });
  part.acts = make("div", { class: "acts" }, tool("skip", "Nobody can say", "space", () => skip()), tool("undo", "Undo", "u", () => undo()), tool("noted", "Note", "n", () => openNote()));
  root.replaceChildren(
    make("header", {}, part.title, part.count,
      make("div", { class: "tools" }, tool("decide", "To decide", null, () => startDeciding()), tool("answer", "Answer", null, () => toggleAnswer()), tool("keys", "Keys", "?", () => help()))),
    part.notice,
    make("main", {}, make("div", {}, part.card, part.input, part.note, part.acts, part.recent), part.aside),
    part.help, part.live,
  );
  if (!root.hasAttribute("tabindex")) root.setAttribute("tabindex", "-1");

  const shown = () => (deciding ? deciding[0] : editing) ?? open[0] ?? null;
  const titleOf = (choice) => (choice.code === spec.none ? "None applies" : choice.name);
  const nameOf = (code) => {
    const choice = spec.choices.find((one) => one.code === code);
    return choice ? titleOf(choice) : String(code);
  };
  const inWords = (answer) => answer == null ? "nobody can say" : Array.isArray(answer) ? answer.map(nameOf).join(", ") : spec.kind === "number" ? String(answer) : nameOf(answer);

  // What the server says --------------------------------------------------------------------------------------------
  async function call(act, payload = {}) {
    const have = [...open, ...recent].map((card) => card.key);
    return link.call(act, { have, ...payload });
  }

  /** Ask the server for what can be asked twice; once more, and again, while it is away. */
  async function ask(act, payload, then, tries = 0) {
    clearTimeout(again[act]);
    let found;
    try {
      found = await call(act, payload);
    } catch (error) {
      fail(error);
      if (error.offline) again[act] = setTimeout(() => ask(act, payload, then, tries + 1), AGAIN[Math.min(tries, AGAIN.length - 1)]);
      return;
    }
    offline = "";
    then(found);
  }

  function take(found) {
    const known = new Map([...open, ...recent].map((card) => [card.key, card]));
    const waiting = new Set(outbox.map((one) => one.key));
    const whole = (card) => (card.sides ? card : known.get(card.key));
    const before = open[0]?.key;
    if (found.open) {
      open = found.open.map(whole).filter((card) => card && !waiting.has(card.key));
      const at = open.findIndex((card) => card.key === before);
      if (at > 0) open.unshift(...open.splice(at, 1)); // what is on the screen stays there
    }
    if (found.recent && !outbox.length) {
      recent = found.recent.map((card) => ({ ...known.get(card.key), ...card })).filter((card) => card.sides);
    }
    info = { ...info, ...found, counts: { ...info.counts, ...found.counts } };
    if (!editing && !deciding && open[0]?.key !== before) {
      if (before) withdrawn = performance.now();
      fresh();
    }
    draw();
    clearTimeout(again.wait);
    if (info.others && !info.names_wanted && !open.length) again.wait = setTimeout(() => ask("next", {}, take), WAIT);
  }

  async function start() {
    try {
      const found = await call("open");
      spec = found.answer;
      document.title = link.alone && found.title ? `Label: ${found.title}` : document.title;
      outbox = link.kept(found.campaign);
      offline = "";
      take(found);
      if (found.show_answer && !standing) link.stream((news) => { standing = news; take({ counts: news.counts ?? {} }); });
      if (link.alone) attend();
      flush();
    } catch (error) {
      if (!error.offline && link.named) info.names_wanted = true; // nobody can be called so
      fail(error);
      if (error.offline) setTimeout(start, AGAIN.at(-1));
    }
  }

  /** Send answers, one after the other; what did not arrive is sent again. */
  async function flush(tries = 0) {
    if (sending || !outbox.length) return;
    const one = outbox[0];
    if (!link.waits(one)) { // another tab has sent it
      outbox.shift();
      offline = "";
      ask("next", {}, take);
      return flush();
    }
    sending = true;
    try {
      const found = await call(one.act, one);
      outbox.shift();
      link.drop(one);
      offline = "";
      sending = false;
      if (link.mine(one)) take(found);
      else ask("next", {}, take);
      part.live.textContent = `Saved. ${info.counts.used ?? ""} labelled.`;
      flush();
    } catch (error) {
      sending = false;
      if (error.offline) {
        offline = error.offline;
        draw();
        setTimeout(() => flush(tries + 1), AGAIN[Math.min(tries, AGAIN.length - 1)]);
        return;
      }
      outbox.shift();
      link.drop(one);
      fail(error);
      ask("next", {}, take);
      flush();
    }
  }

  function fail(error) {
    offline = error.offline ?? "";
    if (!offline) refusal = { text: error.message, until: Date.now() + TO_READ };
    draw();
  }

  // What the person does --------------------------------------------------------------------------------------------
  function fresh() {
    const card = shown();
    came = performance.now();
    part.side = null;
    given = editing?.answers ? [...editing.answers] : (card?.sides ?? []).map(() => (spec.kind === "several" ? [] : null));
    if (spec.kind === "several") given = given.map((one) => [...(one ?? [])]);
    query = "";
    note = null;
    part.note.value = "";
    problem = "";
  }

  function put(act, card, answers) {
    const one = { act, key: card.key, note: note ?? "" };
    if (answers) one.answers = answers;
    outbox.push(link.keep(one));
    open = open.filter((other) => other.key !== card.key);
    recent = [...recent.filter((other) => other.key !== card.key), { ...card, answers }].slice(-10);
    editing = null;
    fresh();
    if (Date.now() > refusal.until) refusal.text = "";
    draw();
    arrive();
    requestAnimationFrame(() => setTimeout(() => performance.measure("answer to paint", { start: pressed })));
    flush();
  }

  function submit() {
    const card = shown();
    if (!card) return;
    if (given.some((one) => one == null || (Array.isArray(one) && !one.length))) {
      problem = spec.kind === "several" ? "Choose what applies, or that nothing does." : "Answer for every side.";
      return draw();
    }
    const answers = given;
    if (!deciding) return put("answer", card, answers);
    ask("decide", { key: card.key, answers }, showDecisions);
  }

  /** Be done with several labels, of which none is being searched. */
  function done() {
    if (!query.trim()) return submit();
    problem = matching().length ? `Choose one of the labels with "${query}" in their names, or empty the search.` : `No label has "${query}" in its name.`;
    draw();
    focusInput();
  }

  function choose(code) {
    const card = shown();
    if (!card || performance.now() - withdrawn < TWICE) return; // meant for the item that was there
    const at = side();
    if (spec.kind === "several") {
      const now = given[at].filter((one) => one !== spec.none);
      given[at] = code === spec.none ? [code] : now.includes(code) ? now.filter((one) => one !== code) : [...now, code];
      query = "";
      problem = "";
      if (code === spec.none && card.sides.length === 1) return submit();
      draw();
      return focusInput();
    }
    given[at] = code;
    if (given.every((one) => one != null) && (!editing || card.sides.length === 1 || at === given.length - 1)) return submit();
    part.side = editing ? at + 1 : null; // the other side
    query = "";
    draw();
  }

  const side = () => {
    if (part.side != null && shown()?.sides.length > 1) return part.side;
    const at = given.findIndex((one) => one == null || (Array.isArray(one) && !one.length));
    return at < 0 ? 0 : at;
  };

  function skip() {
    const card = shown();
    const meant = performance.now() - withdrawn > TWICE;
    if (card && meant && !deciding && !part.skip.disabled) put("skip", card, null);
  }

  function undo() {
    if (deciding) return stopDeciding();
    const at = editing ? recent.findIndex((card) => card.key === editing.key) - 1 : recent.length - 1;
    if (at >= 0) edit(recent[at]);
  }

  function edit(card) {
    editing = card;
    fresh();
    draw();
    arrive();
    part.live.textContent = "This item again; choose its right label, or Escape to leave it as it is.";
  }

  /** Leave a field, of which a search is over and a note stays with the item; or else an old answer as it is. */
  function leave(field) {
    if (deciding) return stopDeciding();
    if (field === part.note) note = note || null;
    else if (field.tagName === "INPUT" && !editing) query = "";
    else {
      const typed = editing ? null : note;
      editing = null;
      fresh();
      note = typed;
      part.note.value = typed ?? "";
    }
    refusal.text = "";
    draw();
    attend();
  }

  function openNote() {
    if (!shown() || deciding) return;
    note = note ?? "";
    draw();
    part.note.focus();
  }

  function startDeciding() {
    ask("decisions", {}, showDecisions);
  }

  function showDecisions({ decisions }) {
    editing = null;
    deciding = decisions.length ? decisions : null;
    fresh();
    draw();
    arrive();
    ask("next", {}, take);
  }

  function stopDeciding() {
    deciding = null;
    fresh();
    draw();
  }

  function toggleAnswer() {
    showing = !showing;
    draw();
    if (showing && part.aside.getBoundingClientRect().top > innerHeight) part.aside.scrollIntoView(); // of a narrow screen
  }

  function help() {
    const rows = [
      [spec.kind === "number" ? "digits, Enter" : "keys on the buttons", spec.kind === "several" ? "choose, or no longer" : "answer"],
      ...(spec.kind === "several" ? [["Enter", "done with this item"]] : []),
      ["space", "nobody can say: set the item aside"], [spec.search ? "backspace" : "u or backspace", "undo: show the last answer again, to change it"],
      ...(spec.search ? [] : [["n", "note on this item"]]), ["Escape", "leave a field, or an old answer as it is"], ["?", "these keys"],
    ];
    part.help.replaceChildren(
      make("h2", {}, "Keys"),
      make("dl", {}, ...rows.flatMap(([key, what]) => [make("dt", {}, make("kbd", {}, key)), make("dd", {}, what)])),
      make("button", { type: "button", click: () => part.help.close() }, "Close"),
    );
    part.help.showModal();
  }

  function onKey(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || part.help.open || event.defaultPrevented) return;
    pressed = event.timeStamp;
    const target = event.target;
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (key === "Escape") return void (target.blur?.(), leave(target));
    if (target === part.note) return;
    const typing = target.tagName === "INPUT";
    if (typing && isOf(target, key)) return;
    if ((key === " " || key === "Enter") && target.tagName === "BUTTON") return; // that button
    const act = { " ": skip, u: undo, Backspace: undo, n: openNote, "?": help, Enter: spec.kind === "several" ? done : null, "/": focusInput }[key];
    const choice = typing || spec.search ? null : spec.choices.find((one) => one.key === key);
    if (!act && !choice) return;
    event.preventDefault();
    if (event.repeat) return; // one press, one answer
    if (choice) choose(choice.code);
    else act();
  }

  /** Tell whether a key is typed into a field; others, in an empty one above all, do what they do everywhere. */
  function isOf(field, key) {
    const acts = !field.value && [" ", "Backspace", "?"].includes(key);
    return field.name === "number" ? /^[\d.,e+-]$/.test(key) || key === "Enter" || (!acts && [" ", "Backspace"].includes(key)) : !acts;
  }

  /** Bring the focus to the item, or to the field that takes its label. */
  function attend() {
    part.card.focus({ preventScroll: true });
    focusInput();
  }

  /** Begin with an item at its beginning, wherever the person was in the one before. */
  function arrive() {
    if (link.alone && part.card.getBoundingClientRect().top < 0) part.card.scrollIntoView({ block: "start" });
    attend();
  }

  function focusInput() {
    root.querySelector(".typed input")?.focus({ preventScroll: true });
  }

  // Drawing ---------------------------------------------------------------------------------------------------------
  function draw() {
    const card = shown();
    const counts = info.counts;
    part.title.textContent = info.title || "Label";
    part.count.replaceChildren(...isolated([`${(counts.used ?? 0).toLocaleString("en")} labelled`, info.name, counts.skipped ? `${counts.skipped} set aside` : null].filter(Boolean).join(" · ")));
    part.decide.hidden = !counts.to_decide && !deciding;
    part.decide.textContent = deciding ? "Back to labelling" : `To decide (${counts.to_decide})`;
    part.decide.onclick = deciding ? (event) => { event.stopImmediatePropagation(); stopDeciding(); } : null;
    part.answer.hidden = !info.show_answer;
    part.answer.setAttribute("aria-pressed", String(showing));
    const unsaved = outbox.length;
    const said = offline ? `${offline} ${unsaved ? `${unsaved} answer${unsaved > 1 ? "s wait" : " waits"} here and will be sent later.` : "Trying again."}` : problem || refusal.text;
    part.notice.hidden = !said;
    if (part.notice.textContent !== said) part.notice.textContent = said;
    drawCard(card);
    drawInput(card);
    part.note.hidden = note == null;
    part.acts.hidden = !card;
    part.skip.hidden = part.noted.hidden = Boolean(deciding); // a decision takes no note
    part.skip.disabled = Boolean(editing?.answers);
    for (const one of [part.undo, part.noted]) one.querySelector("kbd").hidden = spec.search; // where letters are searched
    part.undo.disabled = !recent.length || editing?.key === recent[0]?.key;
    drawRecent();
    root.classList.toggle("with-answer", showing && info.show_answer);
    part.aside.hidden = !(showing && info.show_answer);
    if (!part.aside.hidden) drawAnswer();
  }

  function drawCard(card) {
    const sign = JSON.stringify([card?.key, deciding ? "d" : editing ? "e" : "", info.waiting, info.names_wanted, card && card.sides.length > 1 ? side() : 0]);
    if (part.cardSign === sign) return;
    part.cardSign = sign;
    if (!card) {
      part.card.replaceChildren(make("p", { class: "empty" }, info.names_wanted ? "Who are you?" : info.waiting || "Choosing the next item …"));
      if (info.names_wanted) part.card.append(nameForm());
      return;
    }
    const hint = deciding ? `${card.said.map((one) => `${one.name}: ${inWords(one.answer)}`).join(" · ")}. Decide.` : editing ? "An earlier answer: choose its right label, or leave it by Escape." : null;
    const two = card.sides.length > 1;
    part.card.replaceChildren(
      ...(hint ? [make("p", { class: "hint" }, ...isolated(hint))] : []),
      make("div", { class: two ? "sides two" : "sides" }, ...card.sides.map((one, at) => drawSide(one, at, two))),
    );
  }

  function nameForm() {
    const field = make("input", { "aria-label": "Your name", placeholder: "Your name", maxlength: 80 });
    return make("form", { class: "typed", submit: (event) => { event.preventDefault(); if (field.value.trim()) link.rename(field.value.trim()); } }, field, make("button", { class: "send" }, "Begin"));
  }

  function drawSide(one, at, two) {
    const fields = one.fields.map((field) => {
      const short = (field.text ?? "").length < 140 && one.fields.length < 3 && !two;
      const body = field.picture ? [picture(field)] : field.text.split(/\n\s*\n/).map((text) => make("p", { dir: "auto" }, text));
      return make("div", { class: short ? "field short" : "field" }, one.fields.length > 1 ? make("div", { class: "name" }, field.name) : null, ...body);
    });
    if (one.id != null) fields.push(make("div", { class: "field short" }, make("div", { class: "name" }, "Item"), make("p", { dir: "auto" }, one.id)));
    if (!two) return make("div", { class: "side" }, ...fields);
    const heading = make("h2", {}, at ? "Second" : "First");
    return make("div", { class: at === side() ? "side active" : "side", click: () => { part.side = at; draw(); } }, heading, ...fields);
  }

  function picture(field) {
    const image = make("img", { src: field.picture, alt: `Picture of the item: ${field.name}`, referrerpolicy: "no-referrer" });
    image.addEventListener("load", () => image.classList.toggle("tiny", image.naturalWidth <= 64));
    image.addEventListener("error", () => image.replaceWith(make("p", {}, `This picture cannot be shown: ${field.text}`)));
    return image;
  }

  function drawInput(card) {
    const at = side();
    const sign = JSON.stringify([card?.key, given, query, spec.kind, at, Boolean(deciding)]);
    if (part.inputSign === sign) return;
    part.inputSign = sign;
    if (!card) return part.input.replaceChildren();
    const children = [];
    if (card.sides.length > 1) children.push(make("p", { class: "hint" }, `For the ${at ? "second" : "first"}:`));
    if (spec.kind === "number") children.push(numberForm(at));
    else {
      if (spec.search) children.push(searchForm());
      children.push(choiceButtons(at));
      // Of many labels those that are chosen may be out of sight.
      if (spec.search && spec.kind === "several" && given[at].length) children.push(make("p", { class: "hint chosen" }, ...isolated(`Chosen: ${inWords(given[at])}`)));
      if (spec.kind === "several") children.push(make("div", { class: "typed" }, make("button", { type: "button", class: "send", click: done }, "Done ", make("kbd", {}, "Enter"))));
    }
    const active = root.getRootNode().activeElement; // within marimo's shadow, too
    const focused = part.input.contains(active) && active.tagName === "INPUT";
    part.input.replaceChildren(...children);
    if (focused || ((spec.search || spec.kind === "number") && link.alone && note == null)) focusInput();
  }

  /** Return the choices with what is searched in their names, those that are called so first. */
  function matching() {
    const wanted = query.trim().toLowerCase();
    const found = spec.choices.filter((one) => titleOf(one).toLowerCase().includes(wanted));
    return [...found.filter((one) => titleOf(one).toLowerCase() === wanted), ...found.filter((one) => titleOf(one).toLowerCase() !== wanted)];
  }

  function choiceButtons(at) {
    const chosen = [given[at]].flat();
    const small = spec.choices.every((one) => one.name.length <= 3);
    const found = spec.search ? [...new Set([...matching().slice(0, MOST), ...spec.choices.filter((one) => chosen.includes(one.code))])] : spec.choices;
    const buttons = found.map((one) => make("button", { type: "button", class: one.code === spec.none ? "choice none" : "choice", "aria-pressed": String(chosen.includes(one.code)), "aria-keyshortcuts": one.key, click: () => choose(one.code) },
      one.key && !(small && one.key === one.name.toLowerCase()) ? make("kbd", {}, one.key) : null, make("span", { dir: "auto" }, titleOf(one))));
    return make("div", { class: `choices${small ? " small" : ""}${spec.search ? " found" : ""}`, role: "group", "aria-label": "Labels" }, ...buttons);
  }

  function searchForm() {
    const field = make("input", { type: "search", "aria-label": "Search labels", dir: "auto", placeholder: `Search ${spec.choices.length} labels`, autocomplete: "off" });
    field.value = query;
    field.addEventListener("input", () => { query = field.value; part.inputSign = ""; drawInput(shown()); const again = root.querySelector(".typed input"); again.value = query; again.focus(); });
    return make("form", { class: "typed", submit: (event) => {
      event.preventDefault();
      const [first] = matching();
      if (query.trim() && first) choose(first.code);
      else if (query.trim() || spec.kind === "several") done();
    } }, field);
  }

  function numberForm(at) {
    const [low, high] = spec.bounds;
    // A field of text, as those of numbers leave out what they do not take, such as the comma of 4,5.
    const field = make("input", { name: "number", inputmode: low >= 0 && low != null ? "decimal" : "text", autocomplete: "off", "aria-label": `The label: ${spec.within}`, placeholder: spec.within });
    if (given[at] != null) field.value = given[at];
    return make("form", { class: "typed", submit: (event) => {
      event.preventDefault();
      const value = numberIn(field.value);
      if (Number.isFinite(value) && value >= (low ?? -Infinity) && value <= (high ?? Infinity)) return choose(value);
      problem = `A label here is ${spec.within}, written like 1234.5; found ${field.value.trim() ? `"${field.value}"` : "none"}.`;
      draw();
    } }, field, make("button", { class: "send" }, "Done ", make("kbd", {}, "Enter")));
  }

  function drawRecent() {
    const sign = JSON.stringify([recent.map((card) => [card.key, card.answers]), editing?.key]);
    if (part.recentSign === sign) return;
    part.recentSign = sign;
    const rows = [...recent].reverse().map((card) => {
      const text = card.sides.map((one) => one.fields[0]?.text ?? one.id ?? "").join(" | ").replace(/\s+/g, " ");
      const pictures = card.sides.map((one) => one.fields[0]?.picture).filter(Boolean);
      const shows = pictures.length ? pictures.map((src) => make("img", { src, alt: "", referrerpolicy: "no-referrer" })) : [text || card.key];
      const said = (card.answers ?? [null]).map(inWords).join(" | ");
      return make("li", {}, make("button", { type: "button", "aria-current": String(editing?.key === card.key), "aria-label": `Change the answer ${said} to ${text.slice(0, 80)}`, click: () => edit(card) }, make("span", { dir: "auto" }, ...shows), make("b", { dir: "auto" }, said)));
    });
    part.recent.replaceChildren(...(rows.length ? [make("h3", {}, "Your last answers"), make("ol", {}, ...rows)] : []));
  }

  function drawAnswer() {
    const now = standing;
    if (!now) return part.aside.replaceChildren(make("h3", {}, "The answer so far"), make("p", { class: "said" }, "Computing …"));
    const children = [make("h3", {}, "The answer so far")];
    if (now.estimate != null) {
      if (now.what) children.push(make("p", { class: "said" }, now.what));
      children.push(make("div", { class: "big" }, number(now.estimate)), make("p", { class: "ends" }, `${ends(now.interval)} ${Math.round(now.level * 100)} % ${now.guarantee}`));
      if (now.second) children.push(make("p", { class: "ends" }, `${ends(now.second)} by random labels alone`));
      if (now.path.length > 1) children.push(curve(now.path));
    } else children.push(make("p", {}, ...isolated(now.headline ?? "")));
    children.push(make("p", {}, `${labels(now.labels ?? 0)} used.`));
    if (now.needed) children.push(make("p", {}, now.needed));
    if (now.verdict) children.push(make("p", { class: now.stop ? "stop" : "" }, now.verdict));
    if (now.agreement) children.push(make("p", {}, now.agreement));
    children.push(...(now.lines ?? []).map((line) => make("p", { class: "said" }, ...isolated(line))));
    part.aside.replaceChildren(...children);
  }

  root.addEventListener("click", (event) => {
    pressed = event.timeStamp;
    const answers = part.input.contains(event.target) || part.skip.contains(event.target);
    if (answers && event.detail > 1 && event.timeStamp - came < TWICE) event.stopPropagation(); // meant for the item before
  }, true);
  link.listen(root, onKey);
  draw();
  start();
  return { refresh: () => ask("next", {}, take) };
}

/** Draw estimate and intervals against labels. */
function curve(path) {
  const svg = (tag, attributes, text) => {
    const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
    for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
    if (text != null) node.textContent = text;
    return node;
  };
  const [W, H, L, B] = [320, 150, 30, 18];
  const all = path.flatMap(([, estimate, interval]) => [estimate, ...interval]);
  const [low, high] = [Math.min(...all), Math.max(...all)];
  const pad = (high - low || 0.1) * 0.08;
  const [first, last] = [path[0][0], path.at(-1)[0]];
  const x = (n) => L + ((n - first) / (last - first || 1)) * (W - L - 6);
  const y = (value) => Math.max(0, Math.min(H - B, (H - B) * (1 - (value - low + pad) / (high - low + 2 * pad))));
  const points = (pairs) => pairs.map(([n, value]) => `${x(n).toFixed(1)},${y(value).toFixed(1)}`).join(" ");
  const drawn = svg("svg", { viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": `Estimate and interval from ${first} to ${labels(last)}` });
  drawn.append(
    svg("line", { class: "axis", x1: L, x2: W, y1: H - B, y2: H - B }),
    svg("polygon", { class: "band", points: points([...path.map((one) => [one[0], one[2][0]]), ...[...path].reverse().map((one) => [one[0], one[2][1]])]) }),
  );
  for (const end of [0, 1]) {
    const known = path.filter((one) => one[3]);
    if (known.length > 1) drawn.append(svg("polyline", { class: "wide", points: points(known.map((one) => [one[0], one[3][end]])) }));
  }
  drawn.append(
    svg("polyline", { class: "line", points: points(path) }),
    svg("circle", { class: "dot", r: 3.5, cx: x(last), cy: y(path.at(-1)[1]) }),
    svg("text", { x: 0, y: y(high) + 4 }, high.toFixed(2)), svg("text", { x: 0, y: y(low) + 4 }, low.toFixed(2)),
    svg("text", { x: L, y: H - 2 }, first), svg("text", { x: W - 2, y: H - 2, "text-anchor": "end" }, labels(last)),
  );
  return drawn;
}

/** Talk to the server that this page came from. */
function server() {
  const address = new URL(location.href);
  const name = address.searchParams.get("name");
  let seat = sessionStorage.getItem("seat");
  if (!seat) sessionStorage.setItem("seat", (seat = crypto.getRandomValues(new Uint32Array(4)).join("-")));
  let campaign = null; // null until the server has said which; a server that comes in its place may have another one
  let box = "";
  let n = 0;
  return {
    alone: true,
    named: name != null,
    async call(act, payload) {
      let response;
      try {
        response = await fetch(`api/${act}`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ person: seat, name, campaign, ...payload }) });
      } catch {
        throw Object.assign(new Error(SILENT), { offline: SILENT });
      }
      if (response.headers.get("Content-Type")?.startsWith("application/json")) {
        const found = await response.json();
        if (response.ok) return found;
        // A journal that cannot be written, as of a full disk, may take the answer later.
        throw Object.assign(new Error(found.error), { offline: { 409: ANOTHER, 503: found.error }[response.status] ?? "" });
      }
      const text = await response.text();
      // Whom the guard turns away has the key of an earlier server: no answer is lost by that.
      throw Object.assign(new Error(text), { offline: response.status === 403 ? ANEW : response.status >= 500 ? SILENT : "" });
    },
    stream(tell) {
      const source = new EventSource(`api/stream?campaign=${campaign}`);
      source.onmessage = (event) => tell(JSON.parse(event.data));
      // Whom a server that was started anew has refused is let in later, perhaps; the browser itself asks no more.
      source.onerror = () => { if (source.readyState === EventSource.CLOSED) setTimeout(() => this.stream(tell), AGAIN.at(-1)); };
    },
    // Answers wait in the browser one by one, so that no tab writes over those of another. Each belongs to a campaign, as
    // another one may be served at the same address, and is sent as its person's, whichever tab sends it.
    kept(served) {
      campaign = served;
      box = `answer ${campaign} `;
      return Object.keys(localStorage).filter((at) => at.startsWith(box)).sort().map((at) => JSON.parse(localStorage.getItem(at)));
    },
    keep(one) {
      const whole = { ...one, person: seat, name, at: `${box}${Date.now()} ${seat} ${n++}` };
      localStorage.setItem(whole.at, JSON.stringify(whole));
      return whole;
    },
    drop: (one) => localStorage.removeItem(one.at),
    waits: (one) => localStorage.getItem(one.at) != null,
    mine: (one) => one.name === name && (name != null || one.person === seat),
    rename(wanted) {
      address.searchParams.set("name", wanted);
      location.assign(address);
    },
    listen: (root, act) => document.addEventListener("keydown", act),
  };
}

/** Talk to the session of a notebook; called by anywidget. */
function render({ model, el }) {
  const waiting = new Map();
  let told = () => {};
  let n = 0;
  const onMessage = (message) => {
    if (message.kind === "standing") return told(message.found);
    const done = waiting.get(message.id);
    waiting.delete(message.id);
    if (message.error) done?.[1](Object.assign(new Error(message.error), { offline: message.away ? message.error : "" }));
    else done?.[0](message.found);
  };
  model.on("msg:custom", onMessage);
  const root = document.createElement("div");
  root.className = "bayes-assess";
  root.dataset.lmSuppressShortcuts = "true"; // or JupyterLab takes the keys for its own
  el.append(root);
  mount(root, {
    alone: false,
    call: (act, payload) => new Promise((resolve, reject) => { waiting.set(++n, [resolve, reject]); model.send({ id: n, act, payload }); }),
    stream(tell) { told = tell; model.send({ id: 0, act: "stream", payload: {} }); },
    kept: () => [],
    keep: (one) => one,
    drop: () => {},
    waits: () => true,
    mine: () => true,
    rename: () => {},
    listen: (node, act) => node.addEventListener("keydown", (event) => { event.stopPropagation(); act(event); }),
  });
  return () => model.off("msg:custom", onMessage);
}

export default { render };

const page = document.querySelector("[data-bayes-assess]");
if (page) mount(page, server());
