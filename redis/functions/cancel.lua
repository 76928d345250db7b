-- Cancels a request that is still queued. KEYS: the record. ARGV: namespace, id, the caller's token.
-- Returns `canceled`, also to a repeat with the same token, `unknown` or `not_cancellable`; then what is shown of it.
register('cancel', { least = 3, bytes = 1024 }, function(_, args)
  local request = load_request(args[1], args[2])
  if not request then
    return { 'unknown' }
  end
  local verdict = 'not_cancellable'
  if request.status == 'queued' then
    leave_queue(request)
    end_request(request, now_ms(), { status = 'canceled', by = args[3] })
    verdict = 'canceled'
  elseif request.status == 'canceled' and request.ended_by == args[3] then
    verdict = 'canceled'
  end
  return { verdict, show_request(args[1], args[2]) }
end)
