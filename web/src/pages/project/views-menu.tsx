import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { Bookmark, Link2, RefreshCw, Trash2 } from 'lucide-react'
import { Popover } from 'radix-ui'
import { useState } from 'react'
import { errorText } from '../../lib/api/request.ts'
import { type Audience, changeView, deleteView, type SavedView, saveView } from '../../lib/api/views.ts'
import { shownColours } from '../../lib/charts/colours.ts'
import { links } from '../../lib/links.ts'
import { openView } from '../../lib/open-view.ts'
import { projectViewsQuery, useMe } from '../../lib/queries.ts'
import { serviceAddress } from '../../lib/served.ts'
import { Button, Choice } from '../../ui/controls.tsx'
import { copyText } from '../../ui/copy.tsx'
import { Failure } from '../../ui/notice.tsx'
import { AUDIENCE_LABELS, SaveViewDialog } from '../../ui/save-view.tsx'
import { showToast } from '../../ui/toasts.tsx'

/** The saved views of a project: open, save, share, change and delete. Initially open. */
export function ViewsMenu(props: {
  slug: string
  label: string
  /** The classes of the button. */
  look: string
  suggested: string
  /** The path and query of the current page, including columns. */
  path: string
  audiences: readonly Audience[]
}) {
  const { slug, label, look, suggested, path, audiences } = props
  const [open, setOpen] = useState(true)
  const [saving, setSaving] = useState(false)
  return (
    <>
      <Popover.Root open={open} onOpenChange={setOpen}>
        <Popover.Trigger className={look} title={label}>
          <Bookmark className="size-4 shrink-0" aria-hidden="true" />
          <span className="truncate">{label}</span>
        </Popover.Trigger>
        <Popover.Portal>
          <Popover.Content
            collisionPadding={8}
            align="end"
            sideOffset={4}
            aria-label="Saved views"
            className="z-30 flex max-h-[70vh] w-96 max-w-[calc(100vw-2rem)] flex-col gap-2 overflow-y-auto rounded-md border border-line bg-raised p-3 shadow-lg"
          >
            <Views {...props} onClose={() => setOpen(false)} onSave={() => setSaving(true)} />
          </Popover.Content>
        </Popover.Portal>
      </Popover.Root>
      {saving && (
        <SaveViewDialog
          suggested={suggested}
          path={path}
          project={slug}
          audiences={audiences}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  )
}

function Views(props: {
  slug: string
  path: string
  audiences: readonly Audience[]
  onClose: () => void
  onSave: () => void
}) {
  const { slug, path, audiences, onClose } = props
  const me = useMe()
  const navigate = useNavigate()
  const views = useQuery(projectViewsQuery(slug))
  return (
    <>
      <button
        type="button"
        className="rounded px-1 py-1 text-left hover:bg-hover"
        onClick={() => {
          onClose()
          void navigate(links.project(slug))
        }}
      >
        All batches
      </button>
      {views.error && <Failure>{errorText(views.error)}</Failure>}
      <ul aria-label="Saved views" className="flex flex-col gap-2 empty:hidden">
        {views.data?.map((view) => (
          <View
            key={view.id}
            view={view}
            isOwn={view.owner?.id === me?.id}
            path={path}
            audiences={audiences}
            onOpen={() => {
              onClose()
              void navigate(openView(view))
            }}
          />
        ))}
      </ul>
      {views.data?.length === 0 && (
        <p className="px-1 text-muted">
          No saved views yet. A view keeps filters, order, columns, charts and colours under a name.
        </p>
      )}
      {me && (
        <Button
          look="primary"
          onClick={() => {
            onClose()
            props.onSave()
          }}
        >
          Save view
        </Button>
      )}
    </>
  )
}

/** Changes and deletes a view. Only its own user can restore it. */
function useViewChanges(view: SavedView, isOwn: boolean) {
  const { id, title, audience } = view
  const queries = useQueryClient()
  const done = () => queries.invalidateQueries({ queryKey: ['views'] })
  const failed = (error: Error): void => showToast(errorText(error), { bad: true })
  const change = useMutation({
    mutationFn: (wanted: Parameters<typeof changeView>[1]) => changeView(id, wanted),
    onSuccess: done,
    onError: failed,
  })
  const remove = useMutation({
    mutationFn: () => deleteView(id),
    onSuccess: () => {
      void done()
      const { path, project, colors } = view
      const again = { title, path, project, audience, colors }
      const undo = { label: 'Undo', run: () => void saveView(again).then(done, failed) }
      showToast(`“${title}” is deleted.`, isOwn ? { action: undo } : {})
    },
    onError: failed,
  })
  return { change, remove }
}

function View(props: {
  view: SavedView
  isOwn: boolean
  path: string
  audiences: readonly Audience[]
  onOpen: () => void
}) {
  const { view, isOwn, path, audiences, onOpen } = props
  const { id, title, audience, owner, can_edit: canEdit } = view
  const { change, remove } = useViewChanges(view, isOwn)
  const choices = [...new Set([audience, ...audiences])]
  const shown = audience === 'private' ? undefined : audience === 'default' ? 'default' : 'shared'
  return (
    <li className="flex flex-col gap-1 border-t border-line pt-2">
      <span className="flex items-center gap-1">
        <button
          type="button"
          className="min-w-0 flex-1 truncate rounded px-1 py-1 text-left font-medium hover:bg-hover"
          onClick={onOpen}
        >
          {title}
        </button>
        {!isOwn && owner && <span className="truncate text-xs text-muted">{owner.name}</span>}
        {shown && <span className="rounded-full border border-line px-1.5 text-xs text-muted">{shown}</span>}
        <Button
          look="quiet"
          className="px-1.5"
          aria-label={`Copy a link to ${title}`}
          title="Copy a link"
          onClick={({ currentTarget }) =>
            void copyText(`${serviceAddress()}/v/${id}`, currentTarget).then((copied) =>
              showToast(copied ? 'The link is copied.' : `The link is ${serviceAddress()}/v/${id}`),
            )
          }
        >
          <Link2 className="size-3.5" aria-hidden="true" />
        </Button>
        {canEdit && <EditButtons title={title} path={path} change={change} remove={remove} />}
      </span>
      {canEdit && choices.length > 1 && (
        <Choice
          label={`Who sees ${title}`}
          hideLabel
          value={audience}
          options={choices.map((one) => [one, AUDIENCE_LABELS[one]] as const)}
          onChange={(wanted) => change.mutate({ audience: wanted })}
        />
      )}
    </li>
  )
}

/** Replaces a view with what is shown, or deletes it. */
function EditButtons({
  title,
  path,
  change,
  remove,
}: { title: string; path: string } & ReturnType<typeof useViewChanges>) {
  return (
    <>
      <Button
        look="quiet"
        className="px-1.5"
        aria-label={`Replace ${title} with the current view`}
        title="Replace with the current view"
        disabled={change.isPending}
        onClick={() =>
          change.mutate(
            { path, colors: shownColours() },
            { onSuccess: () => showToast(`“${title}” now shows this.`) },
          )
        }
      >
        <RefreshCw className="size-3.5" aria-hidden="true" />
      </Button>
      <Button
        look="quiet"
        className="px-1.5"
        aria-label={`Delete ${title}`}
        title="Delete"
        disabled={remove.isPending}
        onClick={() => remove.mutate()}
      >
        <Trash2 className="size-3.5" aria-hidden="true" />
      </Button>
    </>
  )
}
