import type { FastifyRequest } from 'fastify'
import type { Config } from '../../config.ts'

/** The address that links to this service begin with: `SVC_PUBLIC_URL`, else the one of the request. */
export const publicAddress = ({ publicUrl }: Pick<Config, 'publicUrl'>, request: FastifyRequest): string =>
  publicUrl ?? `${request.protocol}://${request.host}`
