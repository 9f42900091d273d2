import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useNavigate } from '@tanstack/react-router'
import { useState } from 'react'
import { createProject } from '../lib/api/projects.ts'
import { errorText } from '../lib/api/request.ts'
import { links } from '../lib/links.ts'
import { projectsQuery } from '../lib/queries.ts'
import { Choice, Field } from '../ui/controls.tsx'
import { FormDialog } from '../ui/form-dialog.tsx'

/**
 * Creates a project before any data is sent to it, to add members first, or because scripts may not create projects.
 */
export function NewProject({ onClose }: { onClose: () => void }) {
  const navigate = useNavigate()
  const queries = useQueryClient()
  const [visibility, setVisibility] = useState<'private' | 'public'>('private')
  const make = useMutation({
    mutationFn: createProject,
    onSuccess: async ({ slug }) => {
      await queries.invalidateQueries({ queryKey: projectsQuery.queryKey })
      onClose()
      void navigate(links.project(slug))
    },
  })
  return (
    <FormDialog
      title="New project"
      yes="Create project"
      disabled={make.isPending}
      failure={make.error && errorText(make.error)}
      onSubmit={(form) => {
        const [slug = '', name] = ['slug', 'name'].map((field) => String(form.get(field)).trim())
        make.mutate({ slug, visibility, ...(name && { display_name: name }) })
      }}
      onClose={onClose}
    >
      <Field
        label="Name"
        name="slug"
        required
        maxLength={128}
        pattern="[^\/]*"
        title="Without a slash"
        hint="Used by scripts and in the page's address. It cannot be changed later."
      />
      <Field label="Display name" name="name" maxLength={128} hint="The same as the name if left empty." />
      <Choice
        label="Visibility"
        value={visibility}
        onChange={setVisibility}
        options={[
          ['private', 'only its members'],
          ['public', 'anyone, without signing in'],
        ]}
      />
    </FormDialog>
  )
}
