import { type TagChange, tagsIn } from '../lib/tags.ts'
import { Button, Field } from './controls.tsx'
import { Dialog } from './dialog.tsx'

/** Adds tags to the selected rows, and removes tags from them. */
export function TagDialog(props: {
  title: string
  /** The current tags of each row. */
  tags: readonly (readonly string[])[]
  onChange: (change: TagChange) => void
  onClose: () => void
}) {
  const used = [...new Set(props.tags.flat())].sort()
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <form
        className="flex flex-col gap-3"
        onSubmit={(event) => {
          event.preventDefault()
          const form = new FormData(event.currentTarget)
          props.onClose()
          props.onChange({ add: tagsIn(String(form.get('add'))), drop: form.getAll('drop').map(String) })
        }}
      >
        <Field
          label="Add tags"
          name="add"
          placeholder="night best"
          hint="Separated by spaces or commas"
          autoFocus
        />
        {used.length > 0 && (
          <fieldset className="flex flex-wrap gap-x-4 gap-y-1">
            <legend className="text-muted">Remove</legend>
            {used.map((tag) => (
              <label key={tag} className="flex items-center gap-1.5">
                <input type="checkbox" name="drop" value={tag} /> {tag}
              </label>
            ))}
          </fieldset>
        )}
        <div>
          <Button type="submit" look="primary">
            Change the tags
          </Button>
        </div>
      </form>
    </Dialog>
  )
}
