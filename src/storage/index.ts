/** Bytes outside of the database: in a folder, or in a bucket of any S3 API. */
export {
  type ByteRange,
  contentOf,
  type ObjectStore,
  type ObjectWriter,
} from './object-store.ts'
export { openStore, openStoreLater, type StoreSettings } from './open-store.ts'
