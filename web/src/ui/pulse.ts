/**
 * All that pulses does so in one time, whenever it came: their steps (theme.css) fall together, so that the browser
 * draws ten times a second, however many there are.
 */
export function startPulse(): void {
  document.addEventListener('animationstart', ({ target, animationName }) => {
    if (animationName !== 'pulse-dot' || !(target instanceof Element)) return
    for (const animation of target.getAnimations()) animation.startTime = 0
  })
}
