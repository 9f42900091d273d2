// The tables of docs/reference/events.md, from the JSON schema that requests are checked against.

/** @returns Markdown: a section for each type of event, with the fields of its `data` */
export function eventReference(schema) {
  return schema.anyOf
    .map(({ properties }) => {
      const { event_type: type, job_id: job, data } = properties
      const alternatives = (data.anyOf ?? []).flatMap(({ required }) => required ?? [])
      const rows = Object.entries(data.properties ?? {}).map(([name, field]) => {
        const need = data.required?.includes(name)
          ? 'required'
          : alternatives.includes(name)
            ? `one of ${alternatives.map((one) => `\`${one}\``).join(', ')} is required`
            : ''
        return `| \`${name}\` | ${kindOf(field)} | ${need} |`
      })
      const table =
        rows.length === 0
          ? '`data` may be empty.'
          : `| \`data\` | Type | |\n|---|---|---|\n${rows.join('\n')}`
      const id = job.type === 'null' ? '`job_id` is null or left out.' : `\`job_id\`: ${kindOf(job)}.`
      return `### ${type.const}\n\n${id}\n\n${table}\n`
    })
    .join('\n')
}

/** A schema in a few words. */
function kindOf(field) {
  if (field.anyOf !== undefined) {
    const kinds = field.anyOf.map(kindOf)
    return [...new Set(kinds)].join(' or ')
  }
  if (field.enum !== undefined) return field.enum.map((one) => `\`${JSON.stringify(one)}\``).join(', ')
  if (field.const !== undefined) return `\`${JSON.stringify(field.const)}\``
  const { type, minimum, maximum, items } = field
  if (type === 'array') return `array of ${items === undefined ? 'anything' : kindOf(items)}`
  if (type === 'string') {
    const most = /\{1,(\d+)\}/.exec(field.pattern ?? '')?.[1] ?? field.maxLength
    return most === undefined ? 'string' : `string of 1 to ${most} characters`
  }
  const largest =
    maximum === 2 ** 31 - 1 ? '2³¹ − 1' : maximum === Number.MAX_SAFE_INTEGER ? '2⁵³ − 1' : maximum
  const range = minimum !== undefined && largest !== undefined ? ` from ${minimum} to ${largest}` : ''
  if (type === 'object' && field.properties !== undefined)
    return `object with ${Object.keys(field.properties)
      .map((name) => `\`${name}\``)
      .join(', ')}`
  return `${type ?? 'anything'}${range}`
}
