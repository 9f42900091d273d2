import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { errorText } from '../lib/api/request.ts'
import { type Audience, saveView } from '../lib/api/views.ts'
import { shownColours } from '../lib/charts/colours.ts'
import { pagePath } from '../lib/served.ts'
import { Button, Choice, Field } from './controls.tsx'
import { Dialog } from './dialog.tsx'
import { Failure } from './notice.tsx'
import { showToast } from './toasts.tsx'

export const AUDIENCE_LABELS: Record<Audience, string> = {
  private: 'Only me',
  project: 'Everyone in the project',
  default: 'Everyone, as the project’s default view',
}

/** The audiences that the user may choose: members may share with the project, its owner may set its default view. */
export const audiencesFor = (project: { role: string | null } | undefined, isAdmin: boolean): Audience[] => {
  if (project === undefined) return ['private']
  const role = isAdmin ? 'owner' : project.role
  if (role === 'owner') return ['private', 'project', 'default']
  return role === 'member' ? ['private', 'project'] : ['private']
}

/** Saves the current page under a title. */
export function SaveViewDialog(props: {
  suggested: string
  /** The path and query to save. */
  path: string
  /** The slug of the view's project. */
  project: string | null
  audiences: readonly Audience[]
  onClose: () => void
}) {
  const { suggested, path, project, audiences, onClose } = props
  const [audience, setAudience] = useState<Audience>('private')
  const queries = useQueryClient()
  const save = useMutation({
    mutationFn: (title: string) => saveView({ title, path, project, audience, colors: shownColours() }),
    onSuccess: ({ title }) => {
      void queries.invalidateQueries({ queryKey: ['views'] })
      showToast(`“${title}” is saved.`)
      onClose()
    },
  })
  return (
    <Dialog title="Save view" onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const title = String(new FormData(event.currentTarget).get('title')).trim()
          if (title !== '') save.mutate(title)
        }}
      >
        <Field
          label="Name"
          name="title"
          defaultValue={suggested.slice(0, 60)}
          maxLength={100}
          required
          autoFocus
          hint="Filters, order, columns, charts and colours are saved. A view of yours with the same name is replaced."
        />
        {audiences.length > 1 && (
          <Choice
            label="Who sees it"
            value={audience}
            options={audiences.map((one) => [one, AUDIENCE_LABELS[one]] as const)}
            onChange={setAudience}
          />
        )}
        {save.error && <Failure>{errorText(save.error)}</Failure>}
        <div>
          <Button type="submit" look="primary" disabled={save.isPending}>
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** A button for pages that belong to no single project. */
export function SaveView({ suggested }: { suggested: string }) {
  const [path, setPath] = useState<string | null>(null)
  return (
    <>
      <Button onClick={() => setPath(pagePath() + location.search)}>Save view</Button>
      {path !== null && (
        <SaveViewDialog
          suggested={suggested}
          path={path}
          project={null}
          audiences={['private']}
          onClose={() => setPath(null)}
        />
      )}
    </>
  )
}
