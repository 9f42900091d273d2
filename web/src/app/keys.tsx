import { Dialog } from '../ui/dialog.tsx'

const KEYS = [
  ['Ctrl K', 'Go to a project, batch, job or page, or run an action'],
  ['/', 'Search on this page'],
  ['j, k', 'Next and previous row; from a row also ↓ and ↑'],
  ['Enter', 'Open the row'],
  ['x', 'Select the row; with Shift every row from the last one selected'],
  ['f', 'Full screen for the chart under the pointer'],
  ['g h', 'Home'],
  ['?', 'This list'],
] as const

/** The list of keyboard shortcuts. */
export function Keys({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl className="grid grid-cols-[6rem_1fr] gap-y-1.5">
        {KEYS.map(([key, what]) => (
          <div key={key} className="contents">
            <dt>
              <kbd className="rounded border border-line bg-surface px-1.5 font-mono text-xs">{key}</kbd>
            </dt>
            <dd className="text-muted">{what}</dd>
          </div>
        ))}
      </dl>
    </Dialog>
  )
}
