export interface ObjectsOrder {
  readonly kind: string;
  readonly warm: number;
  readonly measured: number;
}
export interface ObjectCounts {
  readonly objects: number;
  readonly managers: number;
  readonly files: number;
  readonly timers: number;
  readonly heap: number;
}
export interface ObjectsReport extends ObjectsOrder {
  readonly before: ObjectCounts;
  readonly after: ObjectCounts;
}
export function countObjects(order: ObjectsOrder): Promise<ObjectsReport>;
export function leftOf(report: ObjectsReport): ObjectCounts;
export function isFlat(report: ObjectsReport): boolean;
