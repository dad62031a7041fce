"""Words for what analyses of ratings report, the same in figures, tables and on the command line."""

from __future__ import annotations

from ...vocabulary import RATER_QUANTITIES

KAPPA, ALPHA = "\N{GREEK SMALL LETTER KAPPA}", "\N{GREEK SMALL LETTER ALPHA}"
COEFFICIENTS = {
    "percent": "Observed agreement",
    "cohen": f"Cohen's {KAPPA}",
    "conger": f"Conger's {KAPPA}",
    "fleiss": f"Fleiss' {KAPPA}",
    "krippendorff": f"Krippendorff's {ALPHA}",
    "gwet": "Gwet's AC",
    "brennan_prediger": f"Brennan and Prediger's {KAPPA}",
    "icc1": "ICC(1)",
    "icc2": "ICC(2)",
    "icc3": "ICC(3)",
    "icc1k": "ICC(1) of the mean",
    "icc2k": "ICC(2) of the mean",
    "icc3k": "ICC(3) of the mean",
    "kendall_w": "Kendall's W",
    "g_relative": "Relative generalisability",
    "g_absolute": "Absolute generalisability",
}
WEIGHTS = {
    "nominal": "exact agreement",
    "linear": "linear weights",
    "ordinal": "ordinal weights",
    "quadratic": "quadratic weights",
    "ratio": "ratio weights",
    "own": "own weights",
}
CORRELATIONS = {
    "pearson": "Pearson's r",
    "spearman": "Spearman's \N{GREEK SMALL LETTER RHO}",
    "kendall": "Kendall's \N{GREEK SMALL LETTER TAU}",
}
TIERS = {"complete_order": "Topics with all tiers in order", "ordered_pairs": "Pairs of tiers in order"}
BIASES = {
    "difference": "Higher than people",
    "sd_ratio": "Spread over items, by the people's mean",
    "sd_ratio_one_person": "Spread of ratings, by one person's",
    "scale_used": "Share of the scale used",
    "own": "Its texts, at equal human rating",
    "other_models": "Texts of other models, at equal human rating",
    "own_minus_other": "Its texts minus those of other models",
    "unrelated": "Unrelated items: higher than people",
    "unrelated_net": "Unrelated items: higher than people, beyond the rest",
    "drop_ratio": "Unrelated items: marked down, by as much as people do",
}
OF_RATERS = RATER_QUANTITIES
TRUTHS = {
    "expected_rating": "Mean rating",
    "positivity": "Higher than people",
    "raw_correlation": "Pearson's r with people's mean",
    "dimension_correlation": "Latent correlation of dimensions",
    "latent_correlation": "Latent correlation with the consensus",
    "latent_correlation_rating": "Latent correlation of one rating with the consensus",
    "latent_correlation_within": "Latent correlation with the consensus within strata",
    "latent_correlation_rating_within": "Latent correlation of one rating with the consensus within strata",
    "missing": "Share without an answer",
    "accuracy": "Accuracy, no answer is wrong",
    "accuracy_answered": "Accuracy of the answers given",
    "difference": "Accuracy, perturbed minus unperturbed",
    "pass_at_k": "At least one of k answers right",
    "pass_all_k": "All of k answers right",
    "percent_agreement": "Observed agreement of people",
    "fleiss_kappa": "Fleiss' kappa of people",
}
