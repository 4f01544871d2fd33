//===-- codegen/driver/lsp/Server.cpp - The language server ---------------===//
// Part of h3gen, under the Apache License v2.0 with LLVM Exceptions. See LICENSE.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//===----------------------------------------------------------------------===//

#include "codegen/driver/lsp/Server.h"

#include "codegen/driver/lsp/Hover.h"
#include "codegen/driver/lsp/Symbols.h"
#include "dsl/format/Format.h"

#include <fmt/format.h>
#include <llvm/Support/LSP/Logging.h>

namespace h3::lsp {

namespace protocol = llvm::lsp;

namespace {

/// Of `textDocument/formatting`. There is one layout, so its options are not read.
struct FormattingParams {
  protocol::TextDocumentIdentifier textDocument;
};

bool fromJSON(const llvm::json::Value &value, FormattingParams &result, llvm::json::Path path) {
  llvm::json::ObjectMapper map(value, path);
  return map && map.map("textDocument", result.textDocument);
}

class Server {
public:
  Server(protocol::JSONTransport &transport, const std::vector<std::string> &searchPath)
      : searchPath(searchPath), transport(transport), handler(transport) {}

  bool run();

private:
  template <typename Result> using Reply = protocol::Callback<Result>;

  void initialize(const protocol::InitializeParams &params, Reply<llvm::json::Value> reply);
  void initialized(const protocol::InitializedParams &) {}
  void shutdown(const protocol::NoParams &, Reply<std::nullptr_t> reply) {
    wasShutDown = true;
    reply(nullptr);
  }
  void open(const protocol::DidOpenTextDocumentParams &params);
  void change(const protocol::DidChangeTextDocumentParams &params);
  void close(const protocol::DidCloseTextDocumentParams &params);
  void hoverAt(const protocol::TextDocumentPositionParams &params,
               Reply<std::optional<protocol::Hover>> reply);
  void definition(const protocol::TextDocumentPositionParams &params,
                  Reply<std::vector<protocol::Location>> reply);
  void formatting(const FormattingParams &params, Reply<std::vector<protocol::TextEdit>> reply);

  const Document *documentOf(const protocol::URIForFile &uri) const;
  /// Analyses all open documents, for they may use each other, and tells the editor.
  void publish();
  protocol::Diagnostic toProtocol(const Diagnostic &diagnostic, const SourceFile *root,
                                  const std::string &text) const;
  static std::optional<protocol::Location> locationOf(const SourceRange &range);

  const std::vector<std::string> &searchPath;
  protocol::JSONTransport &transport;
  protocol::MessageHandler handler;
  protocol::OutgoingNotification<protocol::PublishDiagnosticsParams> publishDiagnostics;
  struct OpenDocument {
    protocol::URIForFile uri;
    std::unique_ptr<Document> document;
  };
  std::map<std::string, OpenDocument> documents; ///< by path
  bool wasShutDown = false;
};

bool Server::run() {
  handler.method("initialize", this, &Server::initialize);
  handler.notification("initialized", this, &Server::initialized);
  handler.method("shutdown", this, &Server::shutdown);
  handler.notification("textDocument/didOpen", this, &Server::open);
  handler.notification("textDocument/didChange", this, &Server::change);
  handler.notification("textDocument/didClose", this, &Server::close);
  handler.method("textDocument/hover", this, &Server::hoverAt);
  handler.method("textDocument/definition", this, &Server::definition);
  handler.method("textDocument/formatting", this, &Server::formatting);
  publishDiagnostics = handler.outgoingNotification<protocol::PublishDiagnosticsParams>(
      "textDocument/publishDiagnostics");
  if (llvm::Error error = transport.run(handler)) {
    protocol::Logger::error("transport: {0}", error);
    llvm::consumeError(std::move(error));
    return false;
  }
  return wasShutDown;
}

void Server::initialize(const protocol::InitializeParams &, Reply<llvm::json::Value> reply) {
  using llvm::json::Object;
  reply(Object{{"serverInfo", Object{{"name", "h3gen"}, {"version", H3GEN_VERSION}}},
               {"capabilities",
                Object{{"positionEncoding", "utf-16"},
                       {"textDocumentSync",
                        Object{{"openClose", true},
                               {"change", static_cast<int>(protocol::TextDocumentSyncKind::Full)}}},
                       {"hoverProvider", true},
                       {"definitionProvider", true},
                       {"documentFormattingProvider", true}}}});
}

void Server::open(const protocol::DidOpenTextDocumentParams &params) {
  auto document = std::make_unique<Document>();
  document->path = canonicalPath(params.textDocument.uri.file().str());
  document->text = params.textDocument.text;
  document->version = params.textDocument.version;
  std::string path = document->path;
  documents[path] = {params.textDocument.uri, std::move(document)};
  publish();
}

void Server::change(const protocol::DidChangeTextDocumentParams &params) {
  auto found = documents.find(canonicalPath(params.textDocument.uri.file().str()));
  if (found == documents.end())
    return;
  // The server asks for whole texts; the last one counts.
  for (const protocol::TextDocumentContentChangeEvent &event : params.contentChanges)
    if (!event.range)
      found->second.document->text = event.text;
  found->second.document->version = params.textDocument.version;
  publish();
}

void Server::close(const protocol::DidCloseTextDocumentParams &params) {
  if (documents.erase(canonicalPath(params.textDocument.uri.file().str())) == 0)
    return;
  publishDiagnostics(protocol::PublishDiagnosticsParams(params.textDocument.uri, 0));
  publish();
}

const Document *Server::documentOf(const protocol::URIForFile &uri) const {
  auto found = documents.find(canonicalPath(uri.file().str()));
  return found == documents.end() ? nullptr : found->second.document.get();
}

void Server::publish() {
  std::map<std::string, std::string> unsaved;
  for (const auto &[path, open] : documents)
    unsaved[path] = open.document->text;
  for (const auto &[path, open] : documents) {
    Document &document = *open.document;
    document.analyse(searchPath, unsaved);
    protocol::PublishDiagnosticsParams params(open.uri, document.version);
    const SourceFile *root = nullptr;
    for (const std::unique_ptr<SourceFile> &source : document.spec.modules.sources)
      if (source->path == document.path)
        root = source.get();
    for (const Diagnostic &diagnostic : document.diagnostics.all())
      params.diagnostics.push_back(toProtocol(diagnostic, root, document.text));
    publishDiagnostics(params);
  }
}

/// Empty for a module that is inside the program.
std::optional<protocol::Location> Server::locationOf(const SourceRange &range) {
  if (!range.file)
    return std::nullopt;
  std::string path = canonicalPath(range.file->path);
  if (path.empty() || path.front() != '/')
    return std::nullopt;
  llvm::Expected<protocol::URIForFile> uri = protocol::URIForFile::fromFile(path);
  if (!uri) {
    llvm::consumeError(uri.takeError());
    return std::nullopt;
  }
  return protocol::Location(*uri, rangeOf(range));
}

/// An error in another module is shown at the innermost call that leads there from this text, or at
/// the `use` of that module, or at the top.
protocol::Diagnostic Server::toProtocol(const Diagnostic &diagnostic, const SourceFile *root,
                                        const std::string &text) const {
  protocol::Diagnostic made;
  made.severity = protocol::DiagnosticSeverity::Error;
  made.source = "h3gen";
  made.message = diagnostic.message;
  if (!diagnostic.hint.empty())
    made.message += "\n" + diagnostic.hint;
  std::vector<protocol::DiagnosticRelatedInformation> related;
  auto relate = [&](const SourceRange &range, const std::string &message) {
    if (std::optional<protocol::Location> location = locationOf(range))
      related.emplace_back(*location, message);
  };
  if (diagnostic.range.file && diagnostic.range.file == root) {
    made.range = rangeOf(diagnostic.range);
  } else if (diagnostic.range.file) {
    auto inRoot = [&](const Note &note) { return root && note.range.file == root; };
    auto call = std::find_if(diagnostic.notes.begin(), diagnostic.notes.end(), inRoot);
    if (call != diagnostic.notes.end()) {
      made.range = rangeOf(call->range);
    } else {
      std::string path = diagnostic.range.file->path;
      size_t slash = path.rfind('/'), dot = path.rfind(".spec");
      std::string name = path.substr(slash + 1, dot - slash - 1);
      for (size_t at = text.find("use "); at != std::string::npos; at = text.find("use ", at + 1)) {
        size_t end = std::min(text.find('\n', at), text.size());
        bool startsLine = at == 0 || text[at - 1] == '\n';
        if (startsLine && std::string_view(text).substr(at, end - at).ends_with(name))
          made.range = {positionOf(text, static_cast<uint32_t>(at + 4)),
                        positionOf(text, static_cast<uint32_t>(end))};
      }
    }
    made.message = fmt::format("in {}: {}", diagnostic.range.file->path, made.message);
    relate(diagnostic.range, diagnostic.message);
  }
  for (const Note &note : diagnostic.notes)
    relate(note.range, note.message);
  if (!related.empty())
    made.relatedInformation = std::move(related);
  return made;
}

void Server::hoverAt(const protocol::TextDocumentPositionParams &params,
                     Reply<std::optional<protocol::Hover>> reply) {
  const Document *document = documentOf(params.textDocument.uri);
  std::optional<HoverText> text =
      document ? hover(*document, offsetOf(document->text, params.position)) : std::nullopt;
  if (!text)
    return reply(std::nullopt);
  protocol::Hover made(rangeOf(text->range));
  made.contents.value = text->markdown;
  reply(made);
}

void Server::definition(const protocol::TextDocumentPositionParams &params,
                        Reply<std::vector<protocol::Location>> reply) {
  std::vector<protocol::Location> locations;
  const Document *document = documentOf(params.textDocument.uri);
  if (document && document->module()) {
    uint32_t offset = offsetOf(document->text, params.position);
    if (std::optional<Path> path = pathAt(*document->module()->file->source, offset))
      if (std::optional<Definition> found = Symbols(*document).find(*path, offset))
        if (std::optional<protocol::Location> location = locationOf(found->range))
          locations.push_back(*location);
  }
  reply(std::move(locations));
}

void Server::formatting(const FormattingParams &params,
                        Reply<std::vector<protocol::TextEdit>> reply) {
  std::vector<protocol::TextEdit> edits;
  if (const Document *document = documentOf(params.textDocument.uri)) {
    SourceFile source{document->path, document->text};
    Diagnostics diagnostics; // published already
    std::optional<std::string> text = format(source, diagnostics);
    if (text && *text != source.text)
      edits.push_back(
          {{{}, positionOf(source.text, static_cast<uint32_t>(source.text.size()))}, *text});
  }
  reply(std::move(edits));
}

} // namespace

bool serve(protocol::JSONTransport &transport, const std::vector<std::string> &searchPath) {
  return Server(transport, searchPath).run();
}

} // namespace h3::lsp
