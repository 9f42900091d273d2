import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { createShare } from '../../lib/api/shares.ts'
import { deleteWithUndo } from '../../lib/delete-batches.ts'
import { markBatches, tagBatches } from '../../lib/edit-batches.ts'
import { links } from '../../lib/links.ts'
import { batchStore } from '../../lib/live/batches.ts'
import type { Cell } from '../../lib/table-text.ts'
import { count, some } from '../../lib/words.ts'
import type { Action } from '../../ui/action.ts'
import { Actions, ClearSelection } from '../../ui/actions.tsx'
import { Button, buttonLook } from '../../ui/controls.tsx'
import { Code } from '../../ui/copy.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ExportTable } from '../../ui/export-table.tsx'
import { Failure } from '../../ui/notice.tsx'
import { TagDialog } from '../../ui/tag-dialog.tsx'
import { showToast } from '../../ui/toasts.tsx'

const MAX_DELETED = 500
const MAX_REPORTED = 20

/** Actions for the selected batches. */
export function SelectionBar(props: {
  ids: readonly string[]
  /** Header and rows of the selected batches, with the columns of the table. */
  rows: () => Cell[][]
  /** The project, whose reports may include the batches. */
  slug: string
  /** The name of exported files, without extension. */
  fileName: string
  /** Makes the only selected batch the baseline. */
  onBaseline: (id: string) => void
  onDone: () => void
  /** Selects all batches that match the query, if not all are loaded. */
  onAll: (() => void) | undefined
}) {
  const { ids, rows, fileName, onDone, onAll } = props
  const [open, setOpen] = useState<'tag' | 'share' | null>(null)
  const able = (right: 'delete' | 'edit' | 'share'): string[] =>
    ids.filter((id) => batchStore.get(id)?.can?.[right])
  const [deletable, taggable, shareable] = [able('delete').slice(0, MAX_DELETED), able('edit'), able('share')]
  const actions = actionsOf({ ...props, deletable, taggable, shareable, onOpen: setOpen })
  return (
    <div
      role="toolbar"
      aria-label="Selected batches"
      className="flex flex-wrap items-center gap-1.5 border-t border-line bg-surface px-4 py-2 sm:gap-2"
    >
      <span aria-live="polite">{count(ids.length)} selected</span>
      {onAll && (
        <Button look="quiet" onClick={onAll}>
          Select all that match
        </Button>
      )}
      <Link {...links.compare(ids)} className={buttonLook('primary')}>
        Compare
      </Link>
      <ExportTable name={fileName} rows={rows} />
      <Actions actions={actions} />
      <ClearSelection onClick={onDone} />
      {open === 'tag' && (
        <TagDialog
          title={`Tag ${some(taggable.length, 'batch', 'batches')}`}
          tags={taggable.map((id) => batchStore.get(id)?.tags ?? [])}
          onChange={(change) => void tagBatches(taggable, change)}
          onClose={() => setOpen(null)}
        />
      )}
      {open === 'share' && <ShareBatches ids={shareable} onClose={() => setOpen(null)} />}
    </div>
  )
}

type Selected = Pick<Parameters<typeof SelectionBar>[0], 'ids' | 'slug' | 'onBaseline' | 'onDone'> & {
  deletable: readonly string[]
  taggable: readonly string[]
  shareable: readonly string[]
  onOpen: (dialog: 'tag' | 'share') => void
}

/** What can be done with the batches, and with how many of them. */
function actionsOf({
  ids,
  slug,
  deletable,
  taggable,
  shareable,
  onBaseline,
  onDone,
  onOpen,
}: Selected): Action[] {
  const [only] = ids
  const of = (some: readonly string[]): string => (some.length === ids.length ? '' : ` ${some.length}`)
  return [
    {
      key: 'tag',
      label: `Tag${of(taggable)}`,
      disabled: taggable.length === 0,
      opensDialog: true,
      onSelect: () => onOpen('tag'),
    },
    ...(ids.length === 1 && only !== undefined
      ? [
          {
            key: 'baseline',
            label: 'Set as baseline',
            title: 'Metrics of the others are shown relative to it',
            onSelect: () => onBaseline(only),
          },
        ]
      : []),
    marked(taggable, 'starred', 'Star', 'Remove star'),
    marked(taggable, 'archived', 'Archive', 'Unarchive'),
    {
      key: 'report',
      label: 'Report',
      title: 'A new report that shows them',
      link: links.reports(slug, ids.slice(0, MAX_REPORTED)),
    },
    {
      key: 'share',
      label: `Share${of(shareable)}`,
      disabled: shareable.length === 0,
      title: shareable.length === 0 ? 'You may not share any of them' : '',
      opensDialog: true,
      onSelect: () => onOpen('share'),
    },
    {
      key: 'delete',
      label: `Delete${of(deletable)}`,
      look: 'danger',
      disabled: deletable.length === 0,
      title:
        deletable.length === 0 ? 'You may not delete any of them' : 'They can be restored from the trash',
      onSelect: () => {
        onDone()
        void deleteWithUndo(deletable, showToast)
      },
    },
  ]
}

/** Sets or removes a mark of the batches. */
function marked(batches: readonly string[], mark: 'starred' | 'archived', on: string, off: string): Action {
  const all = batches.length > 0 && batches.every((id) => batchStore.get(id)?.[mark])
  return {
    key: mark,
    label: all ? off : on,
    disabled: batches.length === 0,
    title: mark === 'archived' && !all ? 'Archived batches are listed with archived:true' : '',
    onSelect: () => void markBatches(batches, mark === 'starred' ? 'Star' : 'Archive mark', mark, !all),
  }
}

function ShareBatches({ ids, onClose }: { ids: readonly string[]; onClose: () => void }) {
  const [made, setMade] = useState<string[] | null>(null)
  const [failed, setFailed] = useState<unknown>(null)
  const [busy, setBusy] = useState(false)
  const make = async (anonymous: boolean): Promise<void> => {
    setBusy(true)
    const found: string[] = []
    try {
      for (const id of ids) found.push(`${id}  ${(await createShare(id, { anonymous })).url}`)
    } catch (error) {
      setFailed(error)
    }
    setMade(found)
    setBusy(false)
  }
  return (
    <Dialog title={`Share ${some(ids.length, 'batch', 'batches')}`} onClose={onClose} size="wide">
      <p className="text-muted">
        One public link each: anyone with it can read that batch, live, without signing in, until you revoke
        it on the batch's page.
      </p>
      {made === null ? (
        <form
          className="flex flex-wrap items-center gap-3"
          onSubmit={(event) => {
            event.preventDefault()
            void make(new FormData(event.currentTarget).has('anonymous'))
          }}
        >
          <label className="flex items-center gap-1.5">
            <input type="checkbox" name="anonymous" /> hide who ran it, where, and its log
          </label>
          <Button type="submit" look="primary" disabled={busy}>
            {busy ? 'Making links …' : `Make ${some(ids.length, 'link')}`}
          </Button>
        </form>
      ) : (
        made.length > 0 && <Code text={made.join('\n')} label="Links" />
      )}
      {failed !== null && (
        <Failure>
          {errorText(failed)} {some(made?.length ?? 0, 'link')} made.
        </Failure>
      )}
    </Dialog>
  )
}
