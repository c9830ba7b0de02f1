"""Accuracy of the mixture classifier in the settings of Sykacek (1999), beside scikit-learn on the same rows.

Published accuracies are 0.789 (Pima), 1.00 (wine, one split of 125 rows) and 0.915 (Ionosphere). They are not
reached, for a reason that the vignette shows: inputs are selected here for what they say of the joint
distribution of labels and inputs. What is asserted is that labels are predicted better than by the largest
class, and how far a classifier without selection is ahead at most.
"""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import pyrjsel as rj

SPLITS = 10
PEERS = {
    # Classes of Ionosphere have covariances that are nearly singular.
    "QDA": lambda: make_pipeline(StandardScaler(), QuadraticDiscriminantAnalysis(reg_param=0.05)),
    "GaussianNB": GaussianNB,
    "logistic regression": lambda: make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)),
    "random forest": lambda: RandomForestClassifier(random_state=1),
}


def pima():
    data = rj.datasets.pima().data
    return "type", [tuple(data[data["split"] == part].drop(columns="split") for part in ("train", "test"))]


def random_splits(data, response, size):
    return response, [
        train_test_split(data, train_size=size, random_state=split, stratify=data[response])
        for split in range(SPLITS)
    ]


def wine():
    frame = load_wine(as_frame=True).frame
    return random_splits(frame, "target", 62)


def ionosphere():
    return random_splits(rj.datasets.ionosphere().data.drop(columns="V2"), "Class", 175)


@pytest.mark.parametrize(
    ("load", "components", "published"), [(pima, 3, 0.789), (wine, 3, 1.0), (ionosphere, 6, 0.915)]
)
def test_accuracy(load, components, published, table):
    response, splits = load()
    accuracy = {name: [] for name in ("mixture classifier", *PEERS)}
    sizes = []
    for split, (train, test) in enumerate(splits):
        model = rj.MixtureClassifier(train[response], train.drop(columns=response), components=components)
        with warnings.catch_warnings():
            # Of ten splits of few rows some have chains in different modes; accuracies average over them.
            warnings.simplefilter("ignore", rj.ConvergenceWarning)
            results = model.fit(draws=5000, chains=2, rng=split, n_jobs=1, progress=False)
        sizes.append(results.draws.size)
        accuracy["mixture classifier"].append(1 - results.score(test).loc["error_rate", "value"])
        for name, make in PEERS.items():
            peer = make().fit(train.drop(columns=response), train[response])
            accuracy[name].append(peer.score(test.drop(columns=response), test[response]))
    group = f"accuracy, {load.__name__}, {components} kernels, {len(splits)} split(s)"
    for name, values in accuracy.items():
        note = f"published {published}" if name == "mixture classifier" else ""
        table.add(group, name, np.mean(values), "", note=note)
    table.add(group, "inputs, mean (largest in any draw)", np.mean(sizes), "", median=np.max(sizes))
    largest = np.mean([test[response].value_counts(normalize=True).iloc[0] for _, test in splits])
    mean = np.mean(accuracy["mixture classifier"])
    assert mean > largest
    assert mean > max(map(np.mean, accuracy.values())) - 0.1
