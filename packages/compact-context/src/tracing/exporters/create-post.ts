import { type Post, type PostOptions, postByFetch } from "./post.ts";

/**
 * On Node by its own client, whose waiting sockets keep no process alive; elsewhere by `fetch`. Redirects are not
 * followed, proxies of the environment are not asked, and no more than 64 KB of an answer are read.
 */
export function createPost(options: PostOptions): Post {
  const { process } = globalThis as { process?: { versions?: { node?: string } } };
  if (options.fetch !== undefined || process?.versions?.node === undefined) {
    return postByFetch(options, options.fetch ?? fetch);
  }
  let post: Promise<Post> | undefined;
  return async (body) => {
    post ??= import("./node-post.ts").then(({ createNodePost }) => createNodePost(options));
    return (await post)(body);
  };
}
