"""Words for what analyses of benchmarks report, the same in figures, tables and on the command line."""

from __future__ import annotations

METRICS = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "macro_f1": "Macro-F1",
    "micro_f1": "Micro-F1",
    "weighted_f1": "Weighted F1",
    "recall": "Recall",
    "precision": "Precision",
    "specificity": "Specificity",
    "mcc": "Matthews correlation",
    "log_loss": "Log-loss",
    "auc": "AUC",
    "missing_rate": "No answer",
}
PASSES = {
    "pass_at_k": "At least one of k right (pass@k)",
    "pass_all_k": "All k right (pass^k)",
    "majority_of_k": "Most frequent of k right",
    "best_of_k": "Best of the first k, as published",
}
MISSING = {
    "wrong": "no answer counts as wrong",
    "missing": "no answer is excluded",
    "study": "no answer counts as in the study",
}
STATUSES = {
    "ok": "Answered",
    "other": "Another label",
    "refused": "Refused",
    "empty": "Empty",
    "truncated": "Cut off",
    "unparsed": "Not parsed",
    "error": "Failed",
    "missing": "Never asked",
}
READINGS = {
    "agree": "Same label by both rules",
    "different": "Different labels by the two rules",
    "only_lenient": "Label by the lenient rule only",
    "only_strict": "Label by the strict rule only",
    "neither": "No label by either rule",
}
RULES = {"published": "as published", "published_v1": "as published (v1)"}
BASELINES = {
    "majority class": "Always the most frequent label",
    "majority class by stratum": "Always the most frequent label of each stratum",
    "random": "Random label",
}
TESTS = {
    "bootstrap": "paired bootstrap",
    "mcnemar exact": "McNemar's exact test",
    "mcnemar mid-p": "McNemar's test, mid-p",
    "mcnemar clustered": "McNemar's test for clusters",
    "mixed logit": "mixed logit",
}
NO_ANSWER = "no answer"
OTHER_LABEL = "other label"


def metric_in_words(name: object, levels: dict[str, str] | None = None) -> str:
    """A metric in words; recall on a level names the level."""
    text = str(name)
    if text in METRICS:
        return METRICS[text]
    if text in PASSES:
        return PASSES[text]
    kind, _, level = text.partition("_")
    told = {"f1": "F1"}.get(kind, METRICS.get(kind, kind.capitalize()))
    return f"{told}: {(levels or {}).get(level, level.replace('_', ' '))}" if level else told


def policy_in_words(policy: str) -> str:
    """What a missing answer counts as, as a heading."""
    text = MISSING.get(policy, policy)
    return text[:1].upper() + text[1:]


def rule_in_words(rule: object) -> str:
    """The name of a reading rule without its form and version."""
    name = str(rule).rpartition("/")[2].partition("@")[0]
    return RULES.get(name, name.replace("_", " "))
