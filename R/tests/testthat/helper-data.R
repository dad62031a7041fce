# What Python calls besides the estimators.
for (file in c("bridge.R", "cregg.R")) {
  source(system.file("engines", file, package = "conjury"), local = TRUE)
}

shipped <- function(...) system.file("extdata", ..., package = "conjury", mustWork = TRUE)

hotel <- function() read_data(shipped("hotel.csv"))

#' A file of the checkout; skips the test where the package is tested alone
checkout <- function(...) {
  root <- Sys.getenv("CONJURY_CHECKOUT")
  if (!nzchar(root)) testthat::skip("not in a checkout")
  file.path(root, ...)
}

#' Skips what takes long, unless it is asked for
long <- function() testthat::skip_if_not(nzchar(Sys.getenv("CONJURY_LONG")), "long: run.R --long")

# Balanced enough to estimate everything; `rude` never meets `work`, the reference of its partner.
small_posts <- function(rows = 600) {
  set.seed(7, kind = "Mersenne-Twister", normal.kind = "Inversion", sample.kind = "Rejection")
  draw <- function(levels) factor(sample(levels, rows, replace = TRUE), levels = levels)
  posts <- data.frame(
    tone = draw(c("calm", "sharp", "rude")), topic = draw(c("work", "sport", "politics")),
    author = draw(c("none", "\u00e9tudiante")), age = draw(c("young", "old")),
    person = rep(seq_len(rows / 6), each = 6), weight = sample(1:4, rows, replace = TRUE)
  )
  forbidden <- posts$tone == "rude" & posts$topic == "work"
  posts$topic[forbidden] <- "sport"
  score <- 0.4 + 0.2 * (posts$tone == "rude") + 0.1 * (posts$age == "old") * (posts$tone == "sharp")
  posts$chosen <- as.integer(stats::runif(rows) < score)
  posts
}
