"""
Which pairs of mean and standard deviation are possible?
========================================================

Whole ratings on a scale limit what a standard deviation can be, given the mean. Points outside the curves are
not possible with such ratings; here the table contains one.
"""

from pathlib import Path

from conjury.analysis.audit import check_table

Path("ratings.csv").write_text(
    "condition,n,mean,sd\nA,40,3.03,1.03\nB,37,3.41,0.86\nC,38,1.20,1.95\nD,41,4.61,0.63\nE,39,2.26,1.29\n"
)
Path("ratings.yaml").write_text(
    "title: Ratings by condition\ngroups:\n- check: mean_sd\n  by: condition\n"
    "  numbers: {mean: mean, sd: sd}\n  settings: {scale: [1, 5], n: {column: n}}\n"
)
figure = check_table("ratings.csv").plot(part="means")
