export { type Health, healthOf } from './reads.ts'
