import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/client";

/** Nothing is read anew by itself: pages do not change under the user, live changes arrive as events. */
export function createQueryClient(): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        // Browsers guess wrongly whether loopback can be reached; the server's answer tells.
        networkMode: "always",
        retry: (failures, error) => failures < 1 && error instanceof ApiError && error.status >= 500,
        retryDelay: 400,
      },
      mutations: { networkMode: "always" },
    },
  });
}
