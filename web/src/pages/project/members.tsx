import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { addMember, changeProject, removeMember } from '../../lib/api/projects.ts'
import { sayWhy } from '../../lib/api/request.ts'
import type { Member } from '../../lib/api/types.ts'
import { membersQuery, projectQuery, projectsQuery, useMe } from '../../lib/queries.ts'
import { Button, Choice, Field } from '../../ui/controls.tsx'
import { Failure, Notice, Waiting } from '../../ui/notice.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { When } from '../../ui/when.tsx'
import { ProjectTabs } from './tabs.tsx'

const route = getRouteApi('/p/$slug/members')

/** Who is in the project, and who may see it. */
export function Members() {
  const { slug } = route.useParams()
  const queries = useQueryClient()
  const me = useMe()
  const project = useQuery(projectQuery(slug))
  const members = useQuery(membersQuery(slug))
  const [role, setRole] = useState<'member' | 'viewer'>('member')
  const renew = () => queries.invalidateQueries({ queryKey: membersQuery(slug).queryKey })
  const add = useMutation({
    mutationFn: (email: string) => addMember(slug, { email, role }),
    onSuccess: renew,
  })
  const drop = useMutation({
    mutationFn: (member: Member) => removeMember(slug, member.user_id),
    onSuccess: renew,
  })
  const change = useMutation({
    mutationFn: (visibility: 'private' | 'public') => changeProject(slug, { visibility }),
    onSuccess: (changed) => {
      queries.setQueryData(projectQuery(slug).queryKey, changed)
      void queries.invalidateQueries({ queryKey: projectsQuery.queryKey })
    },
  })
  if (members.error) return <Notice title={sayWhy(members.error)} bad />
  if (!project.data || !members.data) return <Waiting />
  const rules = project.data.role === 'owner' || me?.role === 'admin'
  return (
    <Sheet title={`Members of ${project.data.display_name}`}>
      <ProjectTabs slug={slug} />
      <p className="text-muted">
        Owner: {project.data.owner.name}. This project is {project.data.visibility}:{' '}
        {project.data.visibility === 'public' ? 'anyone may read it.' : 'only its members see it.'}
      </p>
      {rules && (
        <div className="flex items-center gap-2">
          <Button
            disabled={change.isPending}
            onClick={() => change.mutate(project.data.visibility === 'public' ? 'private' : 'public')}
          >
            Make it {project.data.visibility === 'public' ? 'private' : 'public'}
          </Button>
          {change.error && <Failure>{sayWhy(change.error)}</Failure>}
        </div>
      )}
      <Table heads={['Name', 'Address', 'Role', 'Since', '']} label="Members">
        {members.data.items.map((member) => (
          <tr key={member.user_id}>
            <td>{member.name}</td>
            <td>{member.email}</td>
            <td>{member.role}</td>
            <td>
              <When at={member.created_at} />
            </td>
            <td className="text-right">
              {rules && member.role !== 'owner' && (
                <Button
                  look="danger"
                  aria-label={`Remove ${member.name}`}
                  onClick={() => drop.mutate(member)}
                >
                  Remove
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {drop.error && <Failure>{sayWhy(drop.error)}</Failure>}
      {rules && (
        <form
          className="flex flex-wrap items-end gap-2"
          onSubmit={(event) => {
            event.preventDefault()
            const form = event.currentTarget
            add.mutate(String(new FormData(form).get('email')), { onSuccess: () => form.reset() })
          }}
        >
          <Field label="Address of somebody with an account" name="email" type="email" required />
          <Choice
            label="Role"
            value={role}
            onChange={setRole}
            options={[
              ['member', 'member: reads, reports'],
              ['viewer', 'viewer: reads'],
            ]}
          />
          <Button look="primary" type="submit" className="h-8" disabled={add.isPending}>
            Add
          </Button>
        </form>
      )}
      {add.error && <Failure>{sayWhy(add.error)}</Failure>}
    </Sheet>
  )
}
