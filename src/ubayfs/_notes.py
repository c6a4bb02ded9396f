"""Sentences of notes, such as those on how data were read: advice that never warns, since nothing is wrong."""

NOTES = {
    "title_rows_skipped": ("{file}: rows above the header were skipped: {rows}."),
    "columns_ignored": (
        "columns that hold {kind}, not numbers, are not used as features: {n_columns} ({columns}). "
        "Encode them as numbers to use them, or name them in ignore."
    ),
    "descriptions_ignored": (
        "{file}: columns that describe the features are not read as samples: {n_columns} ({columns})."
    ),
    "ids_ignored": (
        "columns of unique whole numbers that are named like an id are not used as features: {n_columns} "
        "({columns}). Rename a column that is a measurement."
    ),
    "labels_merged": ("labels of {column} that differ only in case count as one: {labels}."),
    "samples_without_target": (
        "samples without a value of {column} are left out: {n_samples} ({samples}); {n_left} are used."
    ),
    "file_transposed": (
        "{file} has samples in its columns ({n_samples}), and features or attributes in its {n_features} rows."
    ),
    "looks_transposed": (
        "{file} seems to have features in rows ({rows}), and was read as {n_rows} samples, {n_columns} columns. "
        "If so, choose features_in: rows."
    ),
    "samples_joined": ("{n_samples} samples are in {keep} of the files ({files})."),
    "samples_not_matched": (
        "{file}: {n_left} of {n_samples} samples are not used, since other files do not have them: {samples}."
    ),
    "names_prefixed": ("features that several files have got the name of their file in front: {n_names} ({names})."),
    "sheet_column_used": ("{columns}: the sample sheet counts; columns of the same name in data files do not."),
    "duplicates_merged": ("{file}: feature names that occur several times: {n_names} ({names}); duplicates: {rule}."),
    "twins": (
        "{n_features} features have a twin, another feature with the same values in all samples: {shown}. No model can "
        "tell them apart, and which of them is selected depends on their order; drop all but one of each."
    ),
    "many_very_likely": (
        "{n_features} features are 'very likely', but {label} leaves room for {limit} of them ({features}). Allow more "
        "features, or state 'likely' for those that matter less."
    ),
    "below_detection": ("{file}: {n_values} values below detection in {n_columns} columns ({columns}): {rule}."),
}
