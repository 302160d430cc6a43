"""What [ABA] published in Tables 3 to 11 (arXiv 2002.06532): its figures by table, data set and row.

[ABA] is Ji, Logan, Smyth, Steyvers, Active Bayesian Assessment of Black-Box Classifiers, AAAI 2021. Every row holds the
figures of UPrior, IPrior and IPrior+TS; None where the table has none. Rows are labels per group (Tables 3, 4, 5, 8),
how many groups are sought (Tables 6 and 9 to 11: one or m), or the only one. Tables 10 and 11 are
all of CIFAR-100: their sets are how many times some mistakes cost more.
"""

from __future__ import annotations

Rows = dict[int | str, tuple[float | None, float, float]]

ABA: dict[int, dict[str, Rows]] = {
    3: {  # RMSE of classwise accuracy, percent
        "CIFAR-100": {2: (30.7, 15.0, 15.3), 5: (20.5, 13.6, 13.8), 10: (13.3, 10.9, 11.4)},
        "ImageNet": {2: (29.4, 13.2, 13.2), 5: (18.8, 12.1, 11.6), 10: (11.8, 9.5, 9.4)},
        "SVHN": {2: (13.7, 5.1, 3.4), 5: (7.7, 5.1, 3.4), 10: (5.4, 4.7, 3.1)},
        "20 News": {2: (23.9, 12.3, 11.7), 5: (15.3, 10.8, 10.3), 10: (10.4, 8.7, 8.8)},
        "DBpedia": {2: (14.9, 2.0, 1.5), 5: (3.5, 2.3, 1.2), 10: (2.6, 2.1, 1.1)},
    },
    4: {  # scaled mean RMSE of the confusion matrix
        "CIFAR-100": {2: (1.463, 0.077, 0.025), 5: (0.071, 0.012, 0.004), 10: (0.001, 0.002, 0.001)},
        "SVHN": {2: (92.823, 0.100, 0.045), 5: (11.752, 0.022, 0.010), 10: (0.946, 0.005, 0.002)},
        "20 News": {2: (3.405, 0.018, 0.005), 5: (0.188, 0.004, 0.001), 10: (0.011, 0.001, 0.000)},
        "DBpedia": {2: (1307.572, 0.144, 0.025), 5: (33.617, 0.019, 0.003), 10: (0.000, 0.004, 0.001)},
    },
    5: {  # error of ECE, percent of the ECE
        "CIFAR-100": {2: (76.7, 26.4, 28.7), 5: (40.5, 23.4, 26.7), 10: (25.7, 21.5, 23.2)},
        "ImageNet": {2: (198.7, 51.8, 36.4), 5: (122.0, 55.3, 29.6), 10: (66.0, 40.8, 22.1)},
        "SVHN": {2: (383.6, 86.2, 49.7), 5: (155.8, 93.1, 44.2), 10: (108.2, 80.6, 36.6)},
        "20 News": {2: (54.0, 39.7, 46.1), 5: (32.8, 28.9, 36.6), 10: (24.7, 22.3, 28.7)},
        "DBpedia": {2: (900.3, 118.0, 93.1), 5: (249.6, 130.5, 74.5), 10: (169.1, 125.9, 60.9)},
    },
    6: {  # labels until the least accurate classes are identified, percent of the pool
        "CIFAR-100": {"1": (81.1, 83.4, 24.9), "m": (99.8, 99.8, 55.1)},
        "ImageNet": {"1": (96.9, 94.7, 9.3), "m": (99.6, 98.5, 17.1)},
        "SVHN": {"1": (90.5, 89.8, 82.8), "m": (100.0, 100.0, 96.0)},
        "20 News": {"1": (53.9, 55.4, 16.9), "m": (92.0, 92.5, 42.5)},
        "DBpedia": {"1": (8.0, 7.6, 11.6), "m": (91.9, 90.2, 57.1)},
    },
    7: {  # labels until a comparison of two classes succeeds
        "CIFAR-100, superclasses": {"": (203.5, 129.0, 121.9)},
        "SVHN": {"": (391.1, 205.2, 172.0)},
        "20 News": {"": (197.3, 157.4, 136.1)},
        "DBpedia": {"": (217.5, 4.3, 2.8)},
    },
    8: {  # RMSE of binwise accuracy, percent
        "CIFAR-100": {2: (23.2, 12.8, 11.9), 5: (15.7, 11.3, 10.0), 10: (11.0, 9.3, 8.1)},
        "ImageNet": {2: (23.0, 11.5, 10.6), 5: (16.0, 10.6, 9.0), 10: (11.1, 8.8, 7.1)},
        "SVHN": {2: (12.5, 4.9, 2.8), 5: (6.2, 4.5, 2.3), 10: (4.4, 3.7, 1.9)},
        "20 News": {2: (19.6, 11.5, 9.0), 5: (12.4, 9.6, 7.7), 10: (8.9, 7.6, 6.4)},
        "DBpedia": {2: (7.6, 2.3, 1.4), 5: (3.6, 2.5, 1.2), 10: (2.4, 2.1, 0.9)},
    },
    9: {  # labels until the least calibrated classes are identified, percent of the pool
        "CIFAR-100": {"1": (None, 88.0, 43.0), "m": (None, 90.0, 59.0)},
        "ImageNet": {"1": (None, 89.6, 31.0), "m": (None, 90.0, 41.2)},
        "SVHN": {"1": (None, 58.8, 40.7), "m": (None, 88.4, 77.6)},
        "20 News": {"1": (None, 69.0, 27.9), "m": (None, 90.3, 50.5)},
        "DBpedia": {"1": (None, 27.9, 8.1), "m": (None, 89.1, 55.6)},
    },
    10: {  # labels until the most costly classes are identified, thousands, where mistaking people costs more
        "human 1": {"1": (9.6, 9.4, 5.0), "m": (10.0, 10.0, 9.4)},
        "human 2": {"1": (9.3, 9.3, 4.4), "m": (9.8, 10.0, 8.4)},
        "human 5": {"1": (9.5, 9.7, 4.5), "m": (9.6, 10.0, 7.9)},
        "human 10": {"1": (9.3, 9.1, 2.2), "m": (9.6, 9.7, 7.4)},
    },
    11: {  # the same, where mistakes between superclasses cost more
        "superclass 1": {"1": (9.9, 10.0, 2.2), "m": (9.8, 9.9, 5.9)},
        "superclass 2": {"1": (10.0, 10.0, 2.2), "m": (9.9, 9.9, 5.2)},
        "superclass 5": {"1": (9.9, 10.0, 1.8), "m": (9.9, 9.9, 5.3)},
        "superclass 10": {"1": (10.0, 9.8, 1.4), "m": (9.9, 9.9, 4.0)},
    },
}
