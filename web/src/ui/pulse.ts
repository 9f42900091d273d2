/**
 * Synchronizes all pulse animations. Their steps (theme.css) then coincide, so the browser repaints ten times per
 * second regardless of their number.
 */
export function startPulse(): void {
  document.addEventListener('animationstart', ({ target, animationName }) => {
    if (animationName !== 'pulse-dot' || !(target instanceof Element)) return
    for (const animation of target.getAnimations()) animation.startTime = 0
  })
}
