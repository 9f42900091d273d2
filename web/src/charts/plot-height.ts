/** Apart from what draws, which is loaded later than the place that is kept for it. */
export const PLOT_HEIGHT = 210
/** With its title and its edges. */
export const CHART_HEIGHT = PLOT_HEIGHT + 44
