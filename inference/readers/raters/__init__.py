"""Tables of ratings: one column per rater, one row per rating, or lists of ratings in cells."""
