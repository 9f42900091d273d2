import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify'
import { databaseFault } from '../../db/sql.ts'
import { type FieldError, Problem, type ProblemCode } from '../../problem.ts'
import { scrub } from '../../secrets.ts'

/** The body of an error answer (RFC 9457; contract "General rules"). */
export function problemBody(
  problem: Problem,
  request: Pick<FastifyRequest, 'id' | 'url'>,
): Record<string, unknown> {
  return {
    type: `urn:svc:problem:${problem.code}`,
    title: problem.title,
    status: problem.status,
    detail: problem.detail ?? problem.title,
    code: problem.code,
    instance: request.url.split('?', 1)[0],
    ...(problem.errors === undefined ? {} : { errors: problem.errors }),
    ...problem.members,
    request_id: request.id,
  }
}

export function sendProblem(reply: FastifyReply, problem: Problem): FastifyReply {
  const headers: Record<string, string> = { ...problem.headers }
  if (problem.status === 401) headers['www-authenticate'] ??= 'Bearer'
  const retryAfterS = problem.retryAfterS ?? (problem.status === 503 ? 2 : undefined)
  if (retryAfterS !== undefined) headers['retry-after'] = String(Math.max(1, Math.ceil(retryAfterS)))
  // An answer that failed before its first byte may already have the header of a compressed one.
  return reply
    .removeHeader('content-encoding')
    .code(problem.status)
    .headers(headers)
    .header('content-type', 'application/problem+json; charset=utf-8')
    .send(scrub(JSON.stringify(problemBody(problem, reply.request))))
}

const FRAMEWORK: Record<string, ProblemCode> = {
  FST_ERR_CTP_BODY_TOO_LARGE: 'body_too_large',
  FST_ERR_CTP_INVALID_MEDIA_TYPE: 'unsupported_media_type',
  FST_ERR_CTP_INVALID_CONTENT_LENGTH: 'bad_request',
  FST_ERR_CTP_EMPTY_JSON_BODY: 'invalid_json',
  FST_ERR_BAD_URL: 'bad_request',
  FST_ERR_MAX_PARAM_LENGTH: 'not_found',
}

const TYPES_WANTED =
  'The content-type must be application/json, or application/offset+octet-stream for the bytes of a file'

/** The Problem for any thrown value. An unexpected error becomes `internal` and keeps its cause for the log. */
export function toProblem(error: unknown): Problem {
  if (error instanceof Problem) return error
  const { code, validation, validationContext, statusCode } = error as FastifyError & {
    validation?: Fault[]
  }
  if (validation !== undefined) {
    const errors = validation.flatMap(fieldErrors)
    const place =
      validationContext === 'querystring'
        ? 'invalid_query'
        : validationContext === 'params'
          ? 'not_found'
          : 'invalid_body'
    return new Problem(place, {
      errors,
      ...(errors[0] ? { detail: `${errors[0].path || 'The value'}: ${errors[0].message}` } : {}),
    })
  }
  const known = FRAMEWORK[code]
  if (known === 'unsupported_media_type') return new Problem(known, { detail: TYPES_WANTED })
  if (known !== undefined) return new Problem(known)
  const fault = databaseFault(error)
  if (fault === 'unavailable' || fault === 'retry') return new Problem('unavailable', { cause: error })
  if (fault === 'timeout') return new Problem('read_timeout', { cause: error })
  if (statusCode !== undefined && statusCode >= 400 && statusCode < 500) return new Problem('bad_request')
  return new Problem('internal', { cause: error })
}

interface Fault {
  instancePath?: string
  message?: string
  keyword?: string
  params?: { keys?: unknown }
}

/** The errors of one zod issue, by field. Each unknown name is an error of its own. */
function fieldErrors({ instancePath = '', message = 'is not valid', keyword, params }: Fault): FieldError[] {
  const path = instancePath.replace(/^\//, '').replaceAll('/', '.')
  if (keyword !== 'unrecognized_keys' || !Array.isArray(params?.keys)) return [{ path, message }]
  return params.keys.map((key) => ({
    path: path === '' ? String(key) : `${path}.${key}`,
    message: 'is not known here',
  }))
}
