# mgcv's side of gam.py: one fit, its predictions with standard errors, and what it took.
#
#   Rscript gam.R FOLDER ENGINE FAMILY METHOD SELECT FORMULA [SP ...]
#
# FOLDER has rows.csv (y, x0, x1, ...) and fresh.csv (x0, x1, ...). ENGINE is gam, bam or
# discrete (bam with discrete = TRUE). SP, if given, are smoothing parameters that stay as they are.
# Written there: fit.csv (linear predictor, its standard error, terms, their standard errors),
# penalties.csv (smoothing parameters as mgcv has them, and S.scale: its S is the plain one divided
# by S.scale, so the plain penalty is sp / S.scale), edf.csv, knots.csv (of "ps" terms), info.csv.
suppressMessages(library(mgcv))
args <- commandArgs(TRUE)
folder <- args[1]
engine <- args[2]
method <- args[4]
select <- args[5] == "TRUE"
formula <- as.formula(args[6])
sp <- if (length(args) > 6) as.numeric(args[-(1:6)]) else NULL
family <- list(gaussian = gaussian(), binomial = binomial(), poisson = poisson())[[args[3]]]
rows <- read.csv(file.path(folder, "rows.csv"))
fresh <- read.csv(file.path(folder, "fresh.csv"))
saved <- function(what, name) write.csv(what, file.path(folder, name), row.names = FALSE)

clock <- system.time({
  model <- if (engine == "gam") {
    # With a known dispersion GCV.Cp would be UBRE, another criterion; scale = -1 makes it GCV.
    gam(formula, family = family, data = rows, method = method, select = select, sp = sp,
        scale = if (method == "GCV.Cp") -1 else 0)
  } else {
    bam(formula, family = family, data = rows, method = method, select = select, sp = sp,
        discrete = engine == "discrete", nthreads = 1)
  }
})
asked <- list(model, fresh, se.fit = TRUE)
if (engine != "gam") asked$discrete <- FALSE
link <- do.call(predict, c(asked, type = "link"))
# "iterms": a term's standard error is that of the term and the intercept together, as ours is.
terms <- do.call(predict, c(asked, type = "iterms"))
saved(data.frame(link$fit, link$se.fit, terms$fit, terms$se.fit), "fit.csv")
each <- model$smooth
saved(data.frame(sp = if (is.null(model$full.sp)) model$sp else model$full.sp,
                 scale = unlist(lapply(each, function(s) s$S.scale))), "penalties.csv")
saved(data.frame(edf = sapply(each, function(s) sum(model$edf[s$first.para:s$last.para]))),
      "edf.csv")
if (inherits(each[[1]], "pspline.smooth")) {
  saved(as.data.frame(lapply(each, function(s) s$knots)), "knots.csv")
}
converged <- if (is.null(model$outer.info)) model$converged else model$outer.info$conv
saved(data.frame(seconds = sum(clock[1:2]), score = model$gcv.ubre, dispersion = model$sig2,
                 converged = paste(converged, collapse = " ")), "info.csv")
