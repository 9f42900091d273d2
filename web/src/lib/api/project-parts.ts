import { ProjectPartsDocument, type ProjectPartsQuery } from '../../__generated__/graphql.ts'
import { inParts, notFound, query } from './graphql.ts'

const PARTS = ['head', 'fields', 'members', 'rules'] as const
const read = inParts(PARTS, (slug, wanted) => query(ProjectPartsDocument, { slug, ...wanted }))

/**
 * A part of a project; what a page asks of one project when it opens comes in one answer.
 * @throws Refusal 404 for a project that is not there or may not be seen
 */
export async function projectPart(
  slug: string,
  part: (typeof PARTS)[number],
): Promise<NonNullable<ProjectPartsQuery['project']>> {
  const { project } = await read(slug, part)
  if (project == null) throw notFound('project')
  return project
}
