/** Shorter names are cut at their end, if at all. */
const LONG = 16
/** Similar names, such as `resnet50-imagenet-lr-0.001-seed-12`, differ here. */
const TAIL = 12

/**
 * A name of a run, cut in the middle if its box is too narrow: similar names differ at their ends. Links and buttons also
 * need `aria-label`: browsers read the two parts with a space between them.
 */
export function Name({ children: name }: { children: string }) {
  const letters = [...name]
  if (letters.length <= LONG) return name
  return (
    <span className="name">
      <bdi>
        <span className="name-head">{letters.slice(0, -TAIL).join('')}</span>
        <span className="name-tail">{letters.slice(-TAIL).join('')}</span>
      </bdi>
    </span>
  )
}
