/** The work of a node: an update for a state. */
type Work = (state: object, config?: unknown) => Promise<object>;

/**
 * A LangGraph node: a function that is also a LangChain `Runnable`, usable either way in graphs, sequences
 * and code. Does not depend on LangChain.
 */
export interface RunnableNode {
  <State extends object>(state: State, config?: unknown): Promise<Partial<State>>;
  readonly lc_runnable: true;
  readonly lc_serializable: false;
  readonly lc_namespace: string[];
  invoke<State extends object>(state: State, config?: unknown): Promise<Partial<State>>;
  /** Runs all at once; `config`: one for all, or one per input. */
  batch<State extends object>(states: readonly State[], config?: unknown): Promise<Partial<State>[]>;
  /** One chunk: the whole update. */
  stream<State extends object>(state: State, config?: unknown): Promise<ReadableStream<Partial<State>>>;
  transform<State extends object>(
    states: AsyncIterable<State>,
    config?: unknown,
  ): AsyncGenerator<Partial<State>>;
  /** The other runnable's result for this one's update. */
  pipe(next: PipedTo): RunnableNode;
  withConfig(config: object): RunnableNode;
  getName(suffix?: string): string;
}

/** A next step: a function, or an object with `invoke`. */
export type PipedTo =
  | ((input: never, config?: never) => unknown)
  | { invoke(input: never, config?: never): unknown };

/** Wraps a function in the interface of a Runnable. */
export function createRunnable(name: string, work: Work): RunnableNode {
  const invoke: Work = async (state, config) => work(state, config);
  const node = Object.assign((state: object, config?: unknown) => invoke(state, config), {
    lc_runnable: true as const,
    lc_serializable: false as const,
    lc_namespace: ["compact_context", "langgraph"],
    invoke,
    batch: (states: readonly object[], config?: unknown) =>
      Promise.all(
        states.map((state, index) => invoke(state, Array.isArray(config) ? config[index] : config)),
      ),
    async stream(state: object, config?: unknown): Promise<ReadableStream<object>> {
      const update = await invoke(state, config);
      return new ReadableStream({
        start(controller) {
          controller.enqueue(update);
          controller.close();
        },
      });
    },
    async *transform(states: AsyncIterable<object>, config?: unknown): AsyncGenerator<object> {
      let whole: object = {};
      for await (const state of states) whole = { ...whole, ...state };
      yield await invoke(whole, config);
    },
    pipe: (next: PipedTo): RunnableNode => createRunnable(name, after(invoke, next)),
    withConfig: (bound: object): RunnableNode =>
      createRunnable(name, (state, config) =>
        invoke(state, { ...bound, ...(typeof config === "object" ? config : undefined) }),
      ),
    getName: (suffix?: string): string => (suffix === undefined ? name : `${name}${suffix}`),
  });
  Object.defineProperty(node, "name", { value: name });
  return node as unknown as RunnableNode;
}

function after(invoke: Work, next: PipedTo): Work {
  const run = (typeof next === "function" ? next : next.invoke.bind(next)) as unknown as Work;
  return async (state, config) => run(await invoke(state, config), config);
}
