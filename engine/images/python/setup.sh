# Runs inside the image: the interpreter under the name that scripts use.
ln -s python3 /usr/bin/python
