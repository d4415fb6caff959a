/** The status that a Temporal server answered a call with (gRPC status codes). */
export const GRPC_STATUS = {
  invalidArgument: 3,
  notFound: 5,
  permissionDenied: 7,
  unimplemented: 12,
} as const;

/** The status code of an error, or of what caused it; undefined where there is none. */
export function grpcStatusOf(error: unknown): unknown {
  if (typeof error !== 'object' || error === null) return undefined;
  if ('code' in error) return error.code;
  return 'cause' in error ? grpcStatusOf(error.cause) : undefined;
}
