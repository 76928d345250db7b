/** A handler of undici that passes everything on: those that watch or change some of it extend it. Undici's own is deprecated. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Dispatcher } from 'undici';

export type Handler = Dispatcher.DispatchHandler;
export type Controller = Dispatcher.DispatchController;

export class PassingHandler implements Handler {
  protected readonly handler: Handler;

  constructor(handler: Handler) {
    this.handler = handler;
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.handler.onRequestStart?.(controller, context);
  }

  onRequestUpgrade(...args: Parameters<NonNullable<Handler['onRequestUpgrade']>>): void {
    this.handler.onRequestUpgrade?.(...args);
  }

  onResponseStart(
    controller: Controller,
    status: number,
    headers: IncomingHttpHeaders,
    message?: string,
  ): void {
    this.handler.onResponseStart?.(controller, status, headers, message);
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.handler.onResponseData?.(controller, chunk);
  }

  onResponseEnd(controller: Controller, trailers: IncomingHttpHeaders): void {
    this.handler.onResponseEnd?.(controller, trailers);
  }

  onResponseError(controller: Controller, error: Error): void {
    this.handler.onResponseError?.(controller, error);
  }
}
