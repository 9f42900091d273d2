import { ProjectPartsDocument, type ProjectPartsQuery } from '../../__generated__/graphql.ts'
import { inParts, notFound, query } from './graphql.ts'

const PARTS = ['head', 'fields', 'members', 'rules', 'links'] as const
const read = inParts(PARTS, (slug, wanted) => query(ProjectPartsDocument, { slug, ...wanted }))

/**
 * Fetches a part of a project. Parts of one project that a page requests when it opens share one request.
 * @throws Refusal 404 if the project does not exist or is not visible
 */
export async function projectPart(
  slug: string,
  part: (typeof PARTS)[number],
): Promise<NonNullable<ProjectPartsQuery['project']>> {
  const { project } = await read(slug, part)
  if (project == null) throw notFound('project')
  return project
}
