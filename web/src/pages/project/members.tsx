import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { getRouteApi } from '@tanstack/react-router'
import { useState } from 'react'
import { addMember, type Member, removeMember } from '../../lib/api/members.ts'
import { changeProject, type Project } from '../../lib/api/projects.ts'
import { errorText } from '../../lib/api/request.ts'
import { faultOf } from '../../lib/availability.ts'
import { membersQuery } from '../../lib/project-queries.ts'
import { projectQuery, projectsQuery, useMe } from '../../lib/queries.ts'
import { Confirm } from '../../ui/confirm.tsx'
import { Button, Choice, Field } from '../../ui/controls.tsx'
import { Failure, Waiting } from '../../ui/notice.tsx'
import { Person } from '../../ui/person.tsx'
import { Refused } from '../../ui/refused.tsx'
import { RelativeTime } from '../../ui/relative-time.tsx'
import { Sheet, Table } from '../../ui/table.tsx'
import { showToast } from '../../ui/toasts.tsx'
import { Invite, Pending } from './invite.tsx'
import { PublicLinks } from './public-links.tsx'
import { ProjectTabs } from './tabs.tsx'

const route = getRouteApi('/p/$slug/members')

type Role = 'member' | 'viewer'
/** The members of the project, and who may see it. */
export function Members() {
  const { slug } = route.useParams()
  const me = useMe()
  const project = useQuery(projectQuery(slug))
  const members = useQuery(membersQuery(slug))
  const [removing, setRemoving] = useState<Member | null>(null)
  const fault = faultOf(project) ?? faultOf(members)
  if (fault)
    return (
      <Refused error={fault}>
        {project.error && <p>The project may be private, or the address may be mistyped.</p>}
      </Refused>
    )
  if (!project.data || !members.data) return <Waiting />
  const rules = project.data.role === 'owner' || me?.role === 'admin'
  return (
    <Sheet title={`Members of ${project.data.display_name}`}>
      <ProjectTabs slug={slug} />
      <Access project={project.data} rules={rules} />
      <Table heads={['Member', 'Role', 'Since', '']} wide={['Since']} label="Members">
        {members.data.items.map((member) => (
          <tr key={member.user_id}>
            <td>
              <Person name={member.name} email={member.email} />
            </td>
            <td>{rules && member.role !== 'owner' ? <RoleOf slug={slug} member={member} /> : member.role}</td>
            <td className="max-sm:hidden">
              <RelativeTime at={member.created_at} />
            </td>
            <td className="text-right">
              {rules && member.role !== 'owner' && (
                <Button
                  look="danger"
                  aria-label={`Remove ${member.name}`}
                  onClick={() => setRemoving(member)}
                >
                  Remove
                </Button>
              )}
            </td>
          </tr>
        ))}
      </Table>
      {rules && <Pending slug={slug} />}
      {rules && <Invite slug={slug} />}
      {rules && <PublicLinks slug={slug} />}
      {rules && <Rename project={project.data} />}
      {removing && <Remove project={project.data} member={removing} onClose={() => setRemoving(null)} />}
    </Sheet>
  )
}

function useRenew(slug: string): () => Promise<void> {
  const queries = useQueryClient()
  return () => queries.invalidateQueries({ queryKey: membersQuery(slug).queryKey })
}

/** Shows the chosen role immediately; an error reverts it and is shown. */
function RoleOf({ slug, member }: { slug: string; member: Member }) {
  const refresh = useRenew(slug)
  const change = useMutation({
    mutationFn: (role: Role) => addMember(slug, { email: member.email, role }),
    onSuccess: refresh,
    onError: (error) =>
      showToast(`${member.name} is still a ${member.role}: ${errorText(error)}`, { bad: true }),
  })
  return (
    <div className="w-24">
      <Choice
        label={`Role of ${member.name}`}
        hideLabel
        value={change.isPending ? change.variables : (member.role as Role)}
        onChange={(role) => change.mutate(role)}
        options={[
          ['member', 'member'],
          ['viewer', 'viewer'],
        ]}
      />
    </div>
  )
}

function Remove({ project, member, onClose }: { project: Project; member: Member; onClose: () => void }) {
  const renew = useRenew(project.slug)
  return (
    <Confirm
      title={`Remove ${member.name}?`}
      no="Keep them"
      yes="Remove"
      danger
      run={() => removeMember(project.slug, member.user_id).then(renew)}
      onClose={onClose}
    >
      {project.visibility === 'public' ? 'They can still read this public project' : 'They no longer see it'}
      {member.role === 'member' && ', and events that their scripts send to it are refused'} from now on.
      Public links that they made stop working. What they sent is kept, and you can add them again.
    </Confirm>
  )
}

function useChange(slug: string) {
  const queries = useQueryClient()
  return async (body: Parameters<typeof changeProject>[1]): Promise<void> => {
    queries.setQueryData(projectQuery(slug).queryKey, await changeProject(slug, body))
    void queries.invalidateQueries({ queryKey: projectsQuery.queryKey })
  }
}

function Access({ project, rules }: { project: Project; rules: boolean }) {
  const change = useChange(project.slug)
  const [confirming, setConfirming] = useState(false)
  const open = project.visibility === 'public'
  const next = open ? 'private' : 'public'
  return (
    <>
      <p className="text-muted">
        Owner: {project.owner.name}. This project is {project.visibility}:{' '}
        {open ? 'anyone may read it.' : 'only its members see it.'}
      </p>
      {rules && (
        <div>
          <Button onClick={() => setConfirming(true)}>Make it {next}</Button>
        </div>
      )}
      {confirming && (
        <Confirm
          title={`Make ${project.display_name} ${next}?`}
          no={`Leave it ${project.visibility}`}
          yes={`Make it ${next}`}
          danger={!open}
          run={() => change({ visibility: next })}
          onClose={() => setConfirming(false)}
        >
          {open
            ? 'From now on only its members see it. Links that share a batch stay valid.'
            : 'Anyone who can reach this service can read its batches, charts and logs without signing in. You can make it private again.'}
        </Confirm>
      )}
    </>
  )
}

function Rename({ project }: { project: Project }) {
  const change = useChange(project.slug)
  const rename = useMutation({ mutationFn: (name: string) => change({ display_name: name }) })
  return (
    <form
      className="flex flex-wrap items-end gap-2 border-t border-line pt-4"
      onSubmit={(event) => {
        event.preventDefault()
        rename.mutate(String(new FormData(event.currentTarget).get('name')).trim())
      }}
    >
      <div className="w-72 max-w-full">
        <Field
          label="Display name"
          name="name"
          defaultValue={project.display_name}
          required
          maxLength={128}
        />
      </div>
      <Button type="submit" disabled={rename.isPending}>
        Rename
      </Button>
      <p className="w-full text-xs text-muted">Scripts still use the name {project.slug}.</p>
      {rename.error && <Failure>{errorText(rename.error)}</Failure>}
    </form>
  )
}
