/** In its own module, because the placeholder needs it before the plotting code is loaded. */
export const PLOT_HEIGHT = 210
/** What each step of a chart's height adds. */
export const STEP_HEIGHT = 120
/** Of a chart that has a wide page for itself. */
export const LONE_PLOT_HEIGHT = 340
/** Including title and padding. */
export const CHART_HEIGHT = PLOT_HEIGHT + 44
