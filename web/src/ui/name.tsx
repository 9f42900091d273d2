/** Shorter names are cut at their end, if at all. */
const LONG = 16
/** Similar names, such as `resnet50-imagenet-lr-0.001-seed-12`, differ here. */
const TAIL = 12

const isLong = (name: string): boolean => [...name].length > LONG

/** The `aria-label` of a link or button with this name: browsers read its two parts with a space between them. */
export const wholeName = (name: string): string | undefined => (isLong(name) ? name : undefined)

/** A name of a run, cut in the middle if its box is too narrow: similar names differ at their ends. */
export function Name({ children: name }: { children: string }) {
  if (!isLong(name)) return name
  const letters = [...name]
  return (
    <span className="name">
      <bdi>
        <span className="name-head">{letters.slice(0, -TAIL).join('')}</span>
        <span className="name-tail">{letters.slice(-TAIL).join('')}</span>
      </bdi>
    </span>
  )
}
