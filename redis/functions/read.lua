-- Reads requests. KEYS: the record of the first. ARGV: namespace, ids. Answers with what is shown of each, or nil.
register_reader('read', function(_, args)
  local requests = {}
  for i = 2, #args do
    requests[i - 1] = show_request(args[1], args[i]) or false
  end
  return requests
end)
