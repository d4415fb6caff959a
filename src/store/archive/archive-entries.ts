/**
 * What the lines of a session's file say: a header, events and blobs in between, and an end.
 *
 * Owns their shapes, version 1. A blob stands before the first event that names it, so that whatever is left of a file
 * that was cut is complete in itself.
 */
import { z } from 'zod';
import { surfaceSchema } from '../../contract/events.js';
import { sessionIdSchema, sha256Schema } from '../../contract/ids.js';

/** The `format` of the header. */
export const ARCHIVE_FORMAT = 'turnkeeper-session';
export const ARCHIVE_VERSION = 1;

const count = z.number().int().nonnegative();
const timestamp = z.iso.datetime();

/** The first line: whose log it is, and how many events it has. */
export const headerEntrySchema = z.strictObject({
  format: z.literal(ARCHIVE_FORMAT),
  version: z.literal(ARCHIVE_VERSION),
  session: z.strictObject({
    id: sessionIdSchema,
    uid: z.uuid(),
    title: z.string(),
    createdAt: timestamp,
    updatedAt: timestamp,
  }),
  events: z.number().int().positive(),
  exportedAt: timestamp,
});
export type HeaderEntry = z.infer<typeof headerEntrySchema>;

/** An event as the log has it; its data is checked by its type. */
export const eventEntrySchema = z.strictObject({
  event: z.strictObject({
    sessionId: sessionIdSchema,
    seq: count,
    type: z.string().min(1),
    at: timestamp,
    turn: count.optional(),
    step: count.optional(),
    surface: surfaceSchema.optional(),
    sources: z.array(count).optional(),
    data: z.record(z.string(), z.unknown()),
  }),
  key: z.string().min(1).optional(),
  request: z.strictObject({ bodySha256: z.string().min(1), cursorSeq: z.number().int().min(-1) }).optional(),
});

/** A blob by the digest of its bytes. */
export const blobEntrySchema = z.strictObject({
  blob: sha256Schema,
  mediaType: z.string(),
  // Its digest says whether it is.
  base64: z.string(),
});

/** The last line. `sha256` is the running digest of all lines before it. */
export const endEntrySchema = z.strictObject({
  end: z.literal(true),
  events: count,
  blobs: count,
  sha256: sha256Schema,
});
