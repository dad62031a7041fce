by_the_program <- function() {
  skip_if_not(has_conjury(), "the program conjury is not here")
}

test_that("level order comes from the file beside a CSV, and text stays text", {
  choices <- hotel()
  expect_equal(levels(choices$price), c("low", "middle", "high"))
  expect_true(is.numeric(choices$chosen))
  file <- tempfile(fileext = ".csv")
  writeLines(c("id,seen,note", "007,True,a", "010,False,NA"), file)
  read <- read_data(file)
  expect_identical(read$id, c("007", "010"))
  expect_identical(read$seen, c(TRUE, FALSE))
  expect_error(read_data("nowhere.csv"), "does not exist")
  expect_error(read_data(shipped("hotel.levels.json")), "tables are files that end in")
})

read_lines <- function(...) {
  file <- tempfile(fileext = ".csv")
  writeLines(c(...), file)
  read_data(file)
}

test_that("long whole numbers stay text, so that different ids stay different", {
  ids <- c("1234567890123456781", "1234567890123456782", "1234567890123456783")
  read <- read_lines("item_id,estimate,count", paste0(ids, c(",0.30000000000000004,1", ",1e-05,9007199254740991", ",NA,")))
  expect_identical(read$item_id, ids)
  expect_identical(read$estimate, c(0.1 + 0.2, 1e-05, NA))
  expect_identical(read$count, c(1, 2^53 - 1, NA))
  expect_identical(read_lines("id,x", "9007199254740993,1", "1.5,2")$id, c("9007199254740993", "1.5"))
})

test_that("only columns of True and False become logical, and text that R alone reads as a number stays text", {
  read <- read_lines("a,b,c,d,e,f", "T,TRUE,True,1e,0x1F,", "F,FALSE,,2e,0x2F,")
  expect_identical(read$a, c("T", "F"))
  expect_identical(read$b, c("TRUE", "FALSE"))
  expect_identical(read$c, c(TRUE, NA))
  expect_identical(read$d, c("1e", "2e"))
  expect_identical(read$e, c("0x1F", "0x2F"))
  expect_identical(read$f, c(NA, NA))
})

test_that("NA in text is text, quoted or not, and a missing value between numbers", {
  read <- read_lines("country,other,x,only", "NA,\"NA\",NA,NA", "DE,DE,2,NA", ",,,NA")
  for (text in read[c("country", "other")]) { # waldo takes NA and "NA" for the same
    expect_identical(is.na(text), c(FALSE, FALSE, TRUE))
    expect_identical(text[1:2], c("NA", "DE"))
  }
  expect_identical(read$x, c(NA, 2L, NA))
  expect_identical(read$only, c("NA", "NA", "NA"))
})

test_that("Parquet has the rows and level order of the CSV, by the program", {
  by_the_program()
  expect_equal(read_data(shipped("hotel.parquet"), "conjury"), hotel())
})

test_that("Parquet has the rows and level order of the CSV, by nanoparquet", {
  skip_if_not_installed("nanoparquet")
  expect_equal(read_data(shipped("hotel.parquet"), "nanoparquet"), hotel())
})

test_that("Parquet has the rows and level order of the CSV, by arrow", {
  skip_if_not_installed("arrow")
  expect_equal(read_data(shipped("hotel.parquet"), "arrow"), hotel())
})

test_that("a results folder is its results by name, with settings and further tables", {
  results <- read_results(shipped("hotel"))
  expect_s3_class(results, "conjury_results")
  expect_named(results, c("amce", "mm", "counts"))
  expect_equal(attr(results$amce, "about")$settings$formula, "chosen ~ reviews + distance + breakfast + price")
  expect_equal(levels(results$amce$level)[1:5], c("few", "good", "half_hour", "quarter_hour", "centre"))
  expect_output(print(results), "amce: Effects, 10 rows")
  reviews <- read_results(shipped("reviews"))
  expect_named(attr(reviews$agreement, "extra"), c("pairs", "variance_components", "decision_study"))
})

test_that("JSON of one command is its tables, with the verdict in words", {
  judged <- read_results(shipped("comments.json"))
  expect_true(all(c("estimates", "confusion", "annotators") %in% names(judged)))
  expect_output(print(judged), "gives the label of a random person in 81.2%")
  found <- tidy(judged$estimates)
  kappa <- found[found$term == "kappa", ]
  expect_equal(kappa$estimate, 0.61818, tolerance = 1e-4)
  expect_true(kappa$conf.low < kappa$estimate && kappa$estimate < kappa$conf.high)
  expect_equal(glance(judged$estimates)$kind, "judging")
  expect_error(read_results(shipped("hotel.levels.json")), "not JSON that conjury printed")
})

test_that("a folder without results is refused, and so is one of another version", {
  expect_error(read_results(tempdir()), "no manifest.json")
  folder <- tempfile()
  dir.create(folder)
  writeLines('{"format": 1, "results": []}', file.path(folder, "manifest.json"))
  expect_error(read_results(folder), "another version")
})

test_that("the program and this package give the same effects and means", {
  results <- read_results(shipped("hotel"))
  formula <- chosen ~ reviews + distance + breakfast + price
  for (name in c("amce", "mm")) {
    null <- attr(results[[name]], "about")$settings$h0
    ours <- if (name == "amce") amce(hotel(), formula, ~judge_id) else mm(hotel(), formula, ~judge_id, h0 = null)
    both <- c("estimate", "lower", "upper", "z", "p")
    expect_equal(as.list(results[[name]])[both], as.list(ours)[both], tolerance = 1e-9)
    expect_equal(results[[name]]$std_error, ours$std.error, tolerance = 1e-9)
    expect_equal(as.character(results[[name]]$level), as.character(ours$level))
  }
})
