--- Buffers without a name. Neovim's own client has one URI for all of them, `file://`; so they are not attached to it,
--- and the server is told of them here.
local M = {}

---@class completiond.Unnamed
---@field client vim.lsp.Client
---@field version integer The 'changedtick' of the text that the server has.

local followed = {} ---@type table<integer, completiond.Unnamed>

---@param buf integer
---@return string
function M.uri(buf)
  return ('untitled:Untitled-%d'):format(buf)
end

---@param buf integer
---@return string
local function text_of(buf)
  local line_end = ({ dos = '\r\n', mac = '\r' })[vim.bo[buf].fileformat] or '\n'
  local lines = vim.api.nvim_buf_get_lines(buf, 0, -1, false)
  return table.concat(lines, line_end) .. (vim.bo[buf].endofline and line_end or '')
end

--- Neovim 0.10 cannot start a server without attaching the buffer.
---@param buf integer
---@return boolean
function M.is_one(buf)
  return vim.fn.has('nvim-0.11') == 1 and vim.api.nvim_buf_get_name(buf) == ''
end

---@param client vim.lsp.Client One that is initialized.
---@param buf integer
function M.open(client, buf)
  followed[buf] = { client = client, version = vim.api.nvim_buf_get_changedtick(buf) }
  client:notify('textDocument/didOpen', {
    textDocument = {
      uri = M.uri(buf),
      languageId = vim.bo[buf].filetype,
      version = followed[buf].version,
      text = text_of(buf),
    },
  })
end

--- Bring what the server has of a buffer up to date.
---@param buf integer
function M.update(buf)
  local one, version = followed[buf], vim.api.nvim_buf_get_changedtick(buf)
  if one and one.version ~= version then
    one.version = version
    one.client:notify('textDocument/didChange', {
      textDocument = { uri = M.uri(buf), version = version },
      contentChanges = { { text = text_of(buf) } },
    })
  end
end

--- The buffer goes, or gets a name.
---@param buf integer
function M.close(buf)
  local one = followed[buf]
  followed[buf] = nil
  if one and not one.client:is_stopped() then
    one.client:notify('textDocument/didClose', { textDocument = { uri = M.uri(buf) } })
  end
end

--- The client that follows a buffer; nil if none does.
---@param buf integer
---@return vim.lsp.Client?
function M.client(buf)
  local one = followed[buf]
  return one and not one.client:is_stopped() and one.client or nil
end

--- The version of a buffer that the server has; nil if it follows none here.
---@param buf integer
---@return integer?
function M.version(buf)
  return followed[buf] and followed[buf].version
end

return M
