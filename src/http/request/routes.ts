import type {
  FastifyBaseLogger,
  FastifyInstance,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify'
import type { ZodTypeProvider } from 'fastify-type-provider-zod'

/** The server, where the zod schema of a route gives the types of its request and its answer. */
export type Routes = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>

/** One route: registers its schema and its handler. */
type Route<Context> = (routes: Routes, context: Context) => void

/**
 * Registers the routes of a file, in the order in which the OpenAPI document lists them.
 * @param context what the routes share: the services, and for some files limits that they count together
 */
export function addRoutes<Context>(
  app: FastifyInstance,
  context: Context,
  list: readonly Route<Context>[],
): void {
  const routes = app.withTypeProvider<ZodTypeProvider>()
  for (const route of list) route(routes, context)
}
