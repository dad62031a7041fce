library(testthat)
library(conjury)

test_check("conjury")
