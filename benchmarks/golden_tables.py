"""The tables of golden_studies.txt and golden_mistakes.txt: 64 samples, 30 features, every kind of target."""

from __future__ import annotations

import io
from functools import cache

import numpy as np
import pandas as pd

# fmt: off
GENES = [
    "TP53", "MDM2", "MYC", "KRAS", "NRAS", "EGFR", "ERBB2", "BRCA1", "BRCA2", "PTEN", "RB1", "CDK4", "CCND1", "APC",
    "SMAD4", "VEGFA", "ACTB", "GAPDH", "SEPTIN2",
]
# fmt: on
BLOOD = ["blood_crp", "blood_il6", "blood_tnf", "blood_ldh"]
OTHERS = ["image_size", "image_uptake", "image_texture", "image_edge", "urine_na", "urine_k", "urine_ph"]
N = 64


@cache
def tables() -> dict[str, bytes]:
    """Return the content of files by their names; the same whenever and wherever it is made."""
    rng = np.random.default_rng(31)
    ids = pd.Index([f"s{i:02d}" for i in range(1, N + 1)], name="sample")
    names = [*GENES, *BLOOD, *OTHERS]
    X = pd.DataFrame(rng.normal(size=(N, len(names))), columns=names, index=ids)
    patient = np.repeat(np.arange(N // 2), 2)
    ill, grade = patient % 2, rng.integers(0, 3, N)
    X["TP53"] += 1.5 * ill
    X["MYC"] += 1.0 * ill
    X["blood_crp"] += 0.9 * ill
    X["KRAS"] += 1.0 * grade
    X["EGFR"] += 1.2 * (grade == 2)
    X["GAPDH"] = X["ACTB"] + 0.2 * X["GAPDH"]
    X["image_uptake"] = X["image_size"] + 0.3 * X["image_uptake"]
    hazard = 0.8 * X["CDK4"] + 0.7 * X["blood_il6"]
    samples = pd.DataFrame(
        {
            "diagnosis": np.where(ill, "ill", "well"),
            "grade": np.array(["low", "middle", "high"])[grade],
            "score": X["PTEN"] - 0.8 * X["image_size"] + 0.6 * X["RB1"] + rng.normal(size=N),
            "relapse": np.where(X["TP53"] + 0.5 * rng.normal(size=N) > 0.7, 1, 0),
            "spread": np.where(X["KRAS"] + 0.5 * rng.normal(size=N) > 1, 1, 0),
            "time": np.exp(1 - hazard + 0.3 * rng.normal(size=N)),
            "event": np.where(rng.random(N) < 0.7, "dead", "alive"),
            "coin": rng.permutation(np.repeat(["heads", "tails"], N // 2)),
            "patient": [f"p{i:02d}" for i in patient],
            "age": (60 + 8 * rng.normal(size=N) + 4 * ill).round(),
            "site": np.where(X["urine_na"] + rng.normal(size=N) > 0, "Graz", "Oslo"),
        },
        index=ids,
    )
    few = X.iloc[:, :12].copy()
    gaps = few.mask(rng.random(few.shape) < 0.08)
    gaps["MDM2"] = gaps["MDM2"].where(np.arange(N) < 20)
    gaps["constant"] = 1.0
    gaps["tissue"] = np.array(["lung", "skin", "liver"])[rng.integers(0, 3, N)]
    gaps["stage"] = np.array(["I", "II", "III", ""])[np.clip(ill + rng.integers(0, 3, N), 0, 3)]
    gaps["smoker"] = np.where(rng.random(N) < 0.3, "yes", "no")
    gaps["remark"] = [f"seen on day {i}" for i in range(N)]
    strange = ["a|b", "<b>x</b>", "*y*", "naïve", "a b", "1", "x_y", "`q`", "$m$", "# h", "it's", "end"]
    odd = few.set_axis(strange, axis=1)
    odd["follows"] = ill + 0.01 * rng.normal(size=N)
    odd.iloc[3, 4] = 1e6
    messy = few.iloc[:, :8].assign(twin=few["TP53"], constant=2)
    messy.iloc[5:9] = messy.iloc[11:15].to_numpy()  # copies
    messy["batch"] = ["a", "b", "B ", "c"] * 15 + ["d", "e", "e", "e"]
    messy.insert(0, "state", ["ill", "well"] * 25 + ["Ill"] * 5 + ["unsure"] * 3 + [""] * 2 + ["well"] * 4)
    rows = pd.concat([few, 2 * few[["PTEN"]]], axis=1).T.round(3).astype(str)
    rows.loc["KRAS", rows.loc["KRAS"].astype(float) < 0] = "<0.5"
    protein = (X[BLOOD] + X[OTHERS[:4]].to_numpy()).iloc[10:]
    frames = {
        "genes.csv": X,
        "samples.csv": samples,
        "cells.csv": samples[["diagnosis", "patient"]].join(X[names[::3]]),
        "gaps.csv": samples[["diagnosis", "patient"]].join(gaps),
        "odd.csv": samples[["diagnosis", "patient"]].join(odd),
        "rna.csv": few,
        "protein.csv": protein.rename(columns={"blood_crp": "KRAS"}),
    }
    contents = {name: frame.round(3).to_csv(lineterminator="\n").encode() for name, frame in frames.items()}
    workbook = io.BytesIO()
    knowledge = {"Gene symbol": ["TP53", "PTEN", "HER2"], "Relevance": ["likely", 3, None], "Cost (EUR)": [10, 20, 5]}
    pd.DataFrame(knowledge).to_excel(workbook, sheet_name="known", index=False)
    return contents | {
        "rows.tsv": rows.to_csv(sep="\t", index_label="probe", lineterminator="\n").encode(),
        "messy.csv": b"Values of the second visit\n\n" + messy.round(3).to_csv(lineterminator="\n").encode(),
        "known.xlsx": workbook.getvalue(),
        "empty.csv": b"",
        "header.csv": b"sample,diagnosis,TP53\n",
        "latin.csv": "sample,diagnosis,größe\n1,a,2\n2,b,3\n".encode("latin-1"),
        **{name: text.encode() for name, text in TEXTS.items()},
    }


TEXTS = {
    "knowledge.csv": """feature,weight,block,cost,why,source,remark
TP53,very likely,signaling,10,guards the genome,doi:10.1/tp53,x
MYC,3,signaling,20,amplified,,y
KRAS,likely,signaling,15,,PMID 1,
BRCA1,,repair,40,,,
BRCA2,unlikely,repair,40,not in this tissue,,
TP35,likely,repair,5,,,
blood_crp,0.5,blood,1,,,
""",
    "wrong.csv": "feature,weight,cost\nTP53,very likley,10\nMYC,-3,cheap\nKRAS,2,\nKRAS,3,1\n",
    "nothing.csv": "gene,weight\ntp53,likely\nmyc,likely\n",
    "ben.csv": "feature,weight,why\nMYC,very likely,my own work\nPTEN,unlikely,lost late\nAPC,2,\n",
    "sets.gmt": "P53_SIGNALING\tx\tTP53\tMDM2\tCDK4\tATM\nRAS_SIGNALING\tx\tKRAS\tNRAS\tEGFR\tHER2\n"
    "REPAIR\tx\tBRCA1\tBRCA2\tPTEN\nNONE\tx\tATM\n",
    "aliases.csv": "alias,name\np53,TP53\nHER2,ERBB2\nCYCLIND1,CCND1\nRAS,KRAS\nRAS,NRAS\n",
    "likely.txt": "TP53, p53; HER2\nCYCLIND1 RAS unheard\n2-Sep\n",
    "twice.csv": "sample,diagnosis,TP53,TP53\n1,a,2,3\n2,b,3,4\n3,a,1,1\n4,b,4,5\n",
    "words.csv": "sample,diagnosis,TP53,MYC\n1,a,2,high\n2,b,oops,3\n3,a,1,4\n4,b,4,5\n",
    "blocks.csv": "feature,block\nTP53,core\nMYC,core\nACTB,house\nGAPDH,house\nACTN,house\n",
    "no_names.csv": "name1,name2\nTP53,likely\n",
    "broken.yaml": "data: [unclosed\n",
}
