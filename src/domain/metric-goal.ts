/** Whether lower values of the metric are better, judging by its name. The page decides by the same rule. */
export const lessIsBetter = (name: string): boolean =>
  /loss|err|perplexity|ppl|(^|[/_])(mse|mae|rmse|nll|wer|cer|fid)|time|duration/i.test(name)
