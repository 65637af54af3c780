/** Calls of the server. Every failure becomes one `ApiError` with words for the user. */

import createClient from "openapi-fetch";
import type { paths } from "./generated/schema";

export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: number;
  readonly code: string;
  readonly hint: string | null;

  constructor(status: number, code: string, message: string, hint: string | null = null) {
    super(message);
    this.status = status;
    this.code = code;
    this.hint = hint;
  }

  /** True when no server answered at all. */
  get unreachable(): boolean {
    return this.code === "unreachable";
  }
}

export const client = createClient<paths>({ baseUrl: "" });

interface Answer<T> {
  data?: T;
  error?: unknown;
  response: Response;
}

/** The data of an answer, or an `ApiError`. An aborted call stays an AbortError. */
export async function unwrap<T>(call: Promise<Answer<T>>): Promise<T> {
  const answer = await reached(call);
  if (answer.response.ok) return answer.data as T;
  throw errorOf(answer.response.status, answer.error);
}

/** As `unwrap`, for answers that are files or bytes. */
export async function fetchRaw(path: string, init?: RequestInit): Promise<Response> {
  const response = await reached(fetch(path, init));
  if (response.ok) return response;
  throw errorOf(response.status, await response.json().catch(() => null));
}

async function reached<T>(call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof DOMException && error.name === "AbortError") throw error;
    throw new ApiError(
      0,
      "unreachable",
      "The studio's server does not answer.",
      "Is it still running? Start it with `compilemask studio`.",
    );
  }
}

function errorOf(status: number, body: unknown): ApiError {
  const error = (body as { error?: { code?: string; message?: string; hint?: string | null } } | null)?.error;
  if (error?.message) return new ApiError(status, error.code ?? "error", error.message, error.hint ?? null);
  // A proxy in front of a server that is gone answers in its own words.
  if (status >= 502 && status <= 504)
    return new ApiError(status, "unreachable", "The studio's server does not answer.");
  return new ApiError(status, "error", `The server answered with status ${status}.`);
}
