/** Fields of the shown page with text of the user, which may be nowhere else. */
const fields = new Set<HTMLInputElement | HTMLTextAreaElement>()

document.addEventListener(
  'input',
  ({ target }) => {
    for (const field of fields) if (!field.isConnected) fields.delete(field)
    if (target instanceof HTMLInputElement || target instanceof HTMLTextAreaElement) fields.add(target)
  },
  { capture: true, passive: true },
)

/** Whether a reload may lose what the user typed. */
export const hasTyped = (): boolean => [...fields].some((field) => field.isConnected && field.value !== '')
