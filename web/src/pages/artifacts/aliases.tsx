import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { changeAliases } from '../../lib/api/artifacts.ts'
import { errorText } from '../../lib/api/request.ts'
import { Button, Field } from '../../ui/controls.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { Failure } from '../../ui/notice.tsx'

/** Names that point to a version. */
export const Aliases = ({ names, of }: { names: readonly string[]; of?: string }) =>
  names.map((name) => (
    <span
      key={name}
      className={`max-w-40 truncate rounded border px-1.5 text-xs ${name === 'latest' ? 'border-line bg-surface text-muted' : 'border-accent bg-accent-soft text-ink'}`}
    >
      {name}
      {of !== undefined && <span className="text-muted"> {of}</span>}
    </span>
  ))

/** Moves aliases to a version, and removes them from it, with a comment for the history. */
export function AliasDialog(props: {
  slug: string
  name: string
  version: string
  /** The aliases of this version. */
  aliases: readonly string[]
  /** All aliases of the artifact. */
  known: readonly string[]
  onDone: () => void
  onClose: () => void
}) {
  const { slug, name, version, onDone, onClose } = props
  const own = props.aliases.filter((alias) => alias !== 'latest')
  const others = props.known.filter((alias) => alias !== 'latest' && !own.includes(alias))
  const [alias, setAlias] = useState('')
  const change = useMutation({
    mutationFn: (form: FormData) => {
      const add = alias.trim()
      const comment = String(form.get('comment')).trim()
      return changeAliases(slug, name, version, {
        ...(add !== '' && { add: [add] }),
        remove: form.getAll('remove').map(String),
        ...(comment !== '' && { comment }),
      })
    },
    onSuccess: onDone,
  })
  return (
    <Dialog title={`Aliases of ${name} ${version}`} onClose={onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          change.mutate(new FormData(event.currentTarget))
        }}
      >
        <Field
          label={`Let this alias point to ${version}`}
          value={alias}
          maxLength={128}
          pattern="[A-Za-z0-9._\-]*"
          placeholder="production"
          hint="Letters, digits, dots, hyphens and underscores. An alias points to one version: it moves here."
          onChange={(event) => setAlias(event.target.value)}
        />
        {others.length > 0 && <KnownAliases names={others} onTake={setAlias} />}
        {own.length > 0 && <RemovedAliases names={own} />}
        <Field label="Comment" name="comment" maxLength={500} placeholder="Passed the review of Friday" />
        {change.error && <Failure>{errorText(change.error)}</Failure>}
        <div>
          <Button type="submit" look="primary" disabled={change.isPending}>
            Change the aliases
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

const RemovedAliases = ({ names }: { names: readonly string[] }) => (
  <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
    <legend className="text-muted">Remove</legend>
    {names.map((one) => (
      <label key={one} className="flex items-center gap-1.5">
        <input type="checkbox" name="remove" value={one} /> {one}
      </label>
    ))}
  </fieldset>
)

const KnownAliases = ({ names, onTake }: { names: readonly string[]; onTake: (name: string) => void }) => (
  <span className="flex flex-wrap gap-1.5">
    {names.map((one) => (
      <Button key={one} className="h-6!" onClick={() => onTake(one)}>
        {one}
      </Button>
    ))}
  </span>
)
